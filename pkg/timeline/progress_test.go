package timeline

import (
	"testing"
	"time"
)

// TestInitializedAt checks that a pod with only main containers is initialized when the kubelet picks up the pod. A pod
// with init containers or sidecars is initialized when the last of these containers has passed.
func TestInitializedAt(t *testing.T) {
	const taken = "1.200 pod scheduled@1\n2.300 pod acknowledged@2\n"
	for name, test := range map[string]struct {
		script           string
		earliest, latest time.Duration // zero if unknown
	}{
		"nothing before": {"spec main app base\n" + taken, 2 * time.Second, 2300 * time.Millisecond},
		"init container": {
			"spec init prep base\nspec main app base\n" + taken +
				"5.000 runtime sandbox ready begun@2.400 network@2.500 running@2.600 | " +
				"prep created@3 started@3.100 finished@4.500 exit=0\n",
			4500 * time.Millisecond, 4500 * time.Millisecond,
		},
		"failed init container": {
			"spec init prep base\nspec main app base\n" + taken +
				"5.000 runtime sandbox ready begun@2.400 network@2.500 running@2.600 | " +
				"prep created@3 started@3.100 finished@4.500 exit=1\n",
			0, 0,
		},
		"sidecar": {
			"spec sidecar proxy base\nspec main app base\n" + taken +
				"5.000 runtime sandbox ready begun@2.400 network@2.500 running@2.600 | proxy created@3 started@3.100\n",
			3100 * time.Millisecond, 3100 * time.Millisecond,
		},
		"waiting sidecar": {"spec sidecar proxy base\nspec main app base\n" + taken, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := parseScript(t, []byte("available runtime\n"+test.script))
			tl, ok := s.evidence().Timeline(s.asOf, s.skew)
			if test.latest == 0 {
				if !ok || !tl.InitializedAt.IsZero() {
					t.Errorf("initialized: %t, at %s, want not initialized", ok, tl.InitializedAt)
				}
				return
			}
			if got := tl.InitializedAt.Sub(base); !ok || got < test.earliest || got > test.latest {
				t.Errorf("initialized: %t, at %s; want %s to %s", ok, got, test.earliest, test.latest)
			}
		})
	}
}
