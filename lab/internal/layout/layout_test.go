package layout

import (
	"strings"
	"testing"
)

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestDefaults(t *testing.T) {
	l, err := FromEnvironment(environment("HOME", "/home/u"))
	if err != nil {
		t.Fatal(err)
	}
	want := Layout{State: "/var/lib/podlapse-lab", Run: "/run/podlapse-lab", Cache: "/home/u/.cache/podlapse-lab"}
	if l != want {
		t.Fatalf("got %+v, want %+v", l, want)
	}
}

func TestMovedStateHasShortSocketPaths(t *testing.T) {
	state := "/srv/" + strings.Repeat("deep/", 40) + "lab"
	l, err := FromEnvironment(environment(StateVariable, state, CacheVariable, "/c"))
	if err != nil {
		t.Fatal(err)
	}
	// containerd limits the path of its directory for shim sockets to 38 bytes.
	if n := len(l.ShimSockets()); n > 38 {
		t.Errorf("shim socket directory %s has %d bytes", l.ShimSockets(), n)
	}
	if l.Run == "/run/podlapse-lab" {
		t.Errorf("a moved lab uses the default run directory %s", l.Run)
	}
}

func TestRelativePathsAreRejected(t *testing.T) {
	for _, pairs := range [][]string{{StateVariable, "here"}, {CacheVariable, "here"}, {StateVariable, "/"}} {
		if _, err := FromEnvironment(environment(pairs...)); err == nil || !strings.Contains(err.Error(), pairs[0]) {
			t.Errorf("%v: error %v does not name the variable", pairs, err)
		}
	}
}
