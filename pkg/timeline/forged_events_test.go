package timeline

import (
	"strings"
	"testing"
)

// completeStartUp is a start-up that the runtime and the kubelet's Events report completely.
const completeStartUp = `
available runtime events
spec main app cold

0.310 pod scheduled@0
0.320 pod acknowledged@0 | app waiting
0.330 runtime image cold absent
0.510 event app Pulling 'Pulling image "cold"' named@0.500
5.600 event app Pulled 'Successfully pulled image "cold" in 5s (5.001s including waiting). Image size: 5 bytes.' ` +
	`named@5.580
7.000 pod app running@5 started ready | containers_ready@6 ready@6
7.010 runtime sandbox ready begun@0.340 network@0.400 running@0.450 | app created@5.600 started@5.700 | ` +
	`image cold present first@5.570 pulled@5.570
`

// forgeries lists Events that a user can forge if the user can create Events in the pod's namespace.
var forgeries = []struct{ name, event string }{
	{
		"a pull of a year",
		`1.000 event app Pulled 'Successfully pulled image "cold" in 8760h0m0s (8760h0m0s including waiting). Image ` +
			`size: 5 bytes.' named@0.990`,
	},
	{"a pull that is over before the image is there",
		`1.000 event app Pulled 'Successfully pulled image "cold" in 300ms (301ms including waiting). Image size: 5 ` +
			`bytes.' named@0.990`},
	{"an image that is said to be present while it is absent",
		`1.000 event app Pulled 'Container image "cold" already present on machine' named@0.600`},
	{
		"a pull in the future",
		`1.000 event app Pulled 'Successfully pulled image "cold" in 300ms (301ms including waiting). Image size: 5 ` +
			`bytes.' named@5.575`,
	},
	{"a failure in the future", `1.000 event app Failed 'Failed to pull image "cold": no' named@5.000`},
	{"a failure amid a pull that succeeds", `1.000 event app Failed 'Failed to pull image "cold": no' named@0.990`},
	{"500 failures amid a pull that succeeds",
		`2.000 event app Failed 'Failed to pull image "cold": no' named@0.990 count=500 last@1`},
	{"a request in the future", `1.000 event app Pulling 'Pulling image "cold"' named@3.000 count=3 last@4`},
	{"a pull of another image",
		`1.000 event app Pulled 'Successfully pulled image "other" in 300ms (301ms including waiting). Image size: 5 ` +
			`bytes.' named@0.990`},
	{"another pull of the same time",
		`5.610 event app Pulled 'Successfully pulled image "cold" in 8760h0m0s (8760h0m0s including waiting). Image ` +
			`size: 5 bytes.' named@5.575`},
	{"an obstacle in the future",
		`0.335 event - NetworkNotReady 'network is not ready: container runtime network not ready: ` +
			`NetworkReady=false reason:NetworkPluginNotReady message:no' named@0.339 last@9 count=3`},
}

// TestForgedEvents checks Events that the runtime refutes and Events that are impossible. These Events may change only
// the list of conflicts.
func TestForgedEvents(t *testing.T) {
	want := withoutConflicts(parseScript(t, []byte(completeStartUp+"at 20\n")).print(t))
	for _, forgery := range forgeries {
		t.Run(forgery.name, func(t *testing.T) {
			got := withoutConflicts(parseScript(t, []byte(completeStartUp+forgery.event+"\nat 20\n")).print(t))
			if got != want {
				t.Errorf("with\n%s\ngot\n%s\nwant\n%s", forgery.event, got, want)
			}
		})
	}
}

func withoutConflicts(printed string) string {
	var kept []string
	for line := range strings.Lines(printed) {
		if !strings.HasPrefix(line, "conflict ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
