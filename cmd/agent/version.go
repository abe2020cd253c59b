package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/podlapse/podlapse/internal/cli"
)

// The build sets these variables with the linker flags -X main.version=v1.2.3 and -X main.revision=COMMIT.
var version, revision string

// buildInfo identifies a build of the agent.
type buildInfo struct {
	version   string // release version, or the module version that Go recorded
	revision  string // commit; ends in "-dirty" if files had uncommitted changes
	goVersion string // version of the Go compiler
}

// thisBuild returns the build information that the linker set. For missing values, thisBuild uses the values that Go
// recorded in the binary.
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

// commitOf returns the commit that Go recorded in the binary. If the build used -buildvcs=false, the result is empty.
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
	if _, code, ok := call.Parse(nil, call.Command, 0); !ok {
		return code
	}
	build := thisBuild()
	// the kubectl plugin also prints the agent's name, because the plugin and the agent are one program
	fmt.Fprintf(call.Stdout, "%s %s (revision %s, %s)\n", cli.AgentProgram, build.version, build.revision,
		build.goVersion)
	return cli.ExitOK
}
