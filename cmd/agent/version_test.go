package main

import (
	"runtime/debug"
	"testing"
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
