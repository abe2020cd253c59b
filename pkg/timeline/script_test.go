package timeline

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the expected part of the scripts in testdata")

// TestScripts folds each script in testdata and compares the timeline with the part below "---".
// All times in a script are in seconds since base.
//
//	available runtime events                       sources the agent has
//	since S                                        the agent reports every start-up from S on
//	spec KIND NAME IMAGE [Always|Never|startup|readiness|liveness|hook|prestop|restarts|never|limit]…
//	                                               one container of the pod, in order
//	skew S S                                       least and most lead of the control plane's clock
//	gates                                          the pod has readiness gates
//	secrets                                        the pod names Secrets with registry credentials
//	hostnetwork                                    the pod uses the node's network
//	claims                                         the pod requests dynamically allocated resources
//	volumeclaims                                   the pod mounts volumes by claims
//	generation N                                   the spec's generation: 1 unless given, 0 if not counted
//	unschedulable S                                a scheduler reported that no node fits
//	unmanaged                                      the object has no managed fields
//	kubelet old                                    the kubelet does not report which generation of the spec it knows
//	created S                                      when the API server stored the pod; 0 if not given
//	scheduledbykubelet                             the kubelet wrote the condition PodScheduled
//	static S                                       a static pod, whose manifest the kubelet read at S
//	AT pod [listed] CHANGE | CHANGE…               the pod object arrives with this and all earlier changes:
//	    scheduled@S acknowledged@S containers_ready@S ready@S deleted@S phase=P reason=R
//	    grace=S observed finalizers disruption=R (of a deletion)
//	    unready@S (the pod's readiness conditions are false from S on)
//	    containers_unready@S (the condition ContainersReady is false from S on)
//	    NAME waiting|running@S|terminated@S-S|lost [attempt=N] [exit=N] [died=R] [started] [ready|unready] [last=S-S]
//	        [pullfailure=CLASS]
//	AT gone                                        the pod object is gone
//	AT watched [since@S]                           an Event watch has delivered all Events, or the Events since S
//	AT blind                                       the Event watch was lost
//	AT event NAME|- REASON MESSAGE named@S [count=N last@S]
//	AT runtime [asked@S] ITEM | ITEM…              the runtime's response:
//	    networkdown (the runtime's network is not ready), networkup, networkfirst
//	    sandbox [ready] [attempt=N] begun@S network@S running@S created@S [imageresolved@S]
//	        [imagepulled@S] [imageunknown] [unstamped]
//	    NAME created@S started@S finished@S [attempt=N] [exit=N] [died=R]
//	    image REF absent|present [first@S] [pulled@S] [digest=D] [size=N] [resolved@S] [layers] [incomplete]
//	        [LAYER,SIZE,DOWNLOADED,UNPACKED[,remote]]…
//	AT clock S                                     the node's clock was set forward by S, or back if S < 0
//	at AT                                          compute the timeline at AT
//	verdict                                        the expected result begins with the verdict
func TestScripts(t *testing.T) { runScripts(t, "testdata/*.script", (*script).print) }

// runScripts folds scripts and compares the printed result with the part below "---".
func runScripts(t *testing.T, pattern string, print func(*script, testing.TB) string) {
	for _, path := range scriptPaths(t, pattern) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".script"), func(t *testing.T) {
			input, want := readScript(t, path)
			got := print(parseScript(t, input), t)
			if *update {
				if err := os.WriteFile(path, slices.Concat(input, []byte("---\n"), []byte(got)), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func scriptPaths(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	return paths
}

// readScript returns the observations of a script, and the expected result below "---".
func readScript(t testing.TB, path string) (input, want []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	input, want, _ = bytes.Cut(data, []byte("---\n"))
	return input, want
}

var base = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

type script struct {
	scope        Scope
	pod          Pod
	observations []Observation
	asOf         time.Time
	skew         Skew
	verdict      bool
}

func (s *script) evidence() *Evidence {
	e := NewEvidence(s.scope)
	for _, o := range s.observations {
		e.Apply(o)
	}
	return e
}
