package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/podlapse/podlapse/internal/cli"
)

// The linker sets these: -X main.version=v1.2.3 -X main.revision=COMMIT.
var version, revision string

// buildInfo identifies the agent's version.
type buildInfo struct {
	version   string // as released, or the module version that Go reports
	revision  string // commit; with "-dirty" if the tree had changes
	goVersion string // of the compiler
}

// thisBuild returns the version and revision, as set by the linker or else as recorded by Go.
func thisBuild() buildInfo {
	build := buildInfo{version: version, revision: revision, goVersion: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		build.version = cmp.Or(build.version, info.Main.Version)
		build.revision = cmp.Or(build.revision, commitOf(info.Settings))
	}
	build.version = cmp.Or(build.version, "unknown")
	build.revision = cmp.Or(build.revision, "unknown")
	return build
}

// commitOf is the commit that Go recorded; empty with -buildvcs=false.
func commitOf(settings []debug.BuildSetting) string {
	commit, suffix := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision" && s.Value != "":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			suffix = "-dirty"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + suffix
}

func runVersion(_ context.Context, call cli.Call) int {
	call.Program.Name = cli.AgentProgram // the plugin is the same program
	if len(call.Args) == 1 && call.Args[0] == "--help" {
		fmt.Fprintf(call.Stdout, "Usage: %s version\n", call.Program.Name)
		return cli.ExitOK
	}
	if len(call.Args) > 0 {
		return call.FailUsage(fmt.Errorf("unexpected argument %q", call.Args[0]))
	}
	build := thisBuild()
	fmt.Fprintf(call.Stdout, "%s %s (revision %s, %s)\n", call.Program.Name, build.version, build.revision,
		build.goVersion)
	return cli.ExitOK
}
