package scenario

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/matrix"
)

// TestLateHook uses the values of a real run on Kubernetes 1.30: the kubelet reported the end of a hook 0.827 s late.
func TestLateHook(t *testing.T) {
	const ms = time.Millisecond
	k := knownStartUp{pod: "hook-2", lengths: []knownLength{
		{phase: "post_start_hook", container: mainName, injected: 2 * time.Second, truth: span(0, 2035*ms)},
		{phase: "readiness_probe", container: mainName, truth: span(2035*ms, 2885*ms)},
	}}
	phases := []agent.Phase{reported("post_start_hook", 0, 2861*ms, 2861*ms),
		reported("readiness_probe", 2861*ms, 2895*ms, 2861*ms)}
	for i := range phases {
		phases[i].Container = mainName
	}
	for name, test := range map[string]struct {
		late, wrong bool
		bound       time.Duration
	}{
		"Kubernetes 1.30": {true, false, 2861 * ms}, "Kubernetes 1.36": {false, true, 2861 * ms},
		"the error bound is too small": {true, true, 100 * ms},
	} {
		phases[0].Error = decimal(test.bound)
		all, v := tally{lateHooks: test.late}, &Verdict{}
		all.addTimeline(agent.Timeline{Phases: phases}, k)
		all.judgeExactness(v)
		if wrong := len(v.Problems) > 0; wrong != test.wrong {
			t.Errorf("%s: %q", name, v.Problems)
		}
		if got := v.Figures[matrix.FigureExact]; got != "0 of 2" {
			t.Errorf("%s: %s accurate phases", name, got)
		}
	}
}
