package main

import (
	"bytes"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/cli"
)

func TestCommitOf(t *testing.T) {
	for _, test := range []struct {
		settings []debug.BuildSetting
		want     string
	}{
		{nil, ""},
		{[]debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}, ""},
		{[]debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"}}, "abc"},
		{[]debug.BuildSetting{{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "abc"}}, "abc-dirty"},
	} {
		if got := commitOf(test.settings); got != test.want {
			t.Errorf("%v: got %q, want %q", test.settings, got, test.want)
		}
	}
}

func TestVersionOfThisBuild(t *testing.T) {
	if build := thisBuild(); build.version == "" || build.revision == "" || build.goVersion == "" {
		t.Errorf("got %+v", build)
	}
}

// TestVersionNamesTheCalledProgram runs version under both names of the program. Only the version itself always has the
// name of the agent.
func TestVersionNamesTheCalledProgram(t *testing.T) {
	for _, program := range []string{cli.AgentProgram, cli.PluginProgram} {
		for args, want := range map[string]string{
			"version":        cli.AgentProgram + " ",
			"version --help": "Usage: " + program + " version\n",
			"version -h":     "Usage: " + program + " version\n",
			"version x": program + " version: unexpected argument \"x\"\nRun \"" + program +
				" version --help\" for the usage.\n",
		} {
			var out bytes.Buffer
			runAs(t.Context(), program, strings.Fields(args), func(string) string { return "" }, &out, &out)
			if !strings.HasPrefix(out.String(), want) {
				t.Errorf("%s %s: got %q, want %q", program, args, out.String(), want)
			}
		}
	}
}
