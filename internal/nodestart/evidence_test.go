package nodestart

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestClockSetAndGivingUp sets the node's clock while the agent runs. The agent gives up an hour after its start, which
// it measures with the monotonic clock.
func TestClockSetAndGivingUp(t *testing.T) {
	t.Parallel()
	start := time.Now() // with a reading of the monotonic clock
	for _, step := range []time.Duration{-2 * time.Hour, -50 * time.Minute, 50 * time.Minute, 2 * time.Hour} {
		for _, age := range []time.Duration{time.Minute, 3 * time.Hour} {
			var e Evidence
			booted := start.Add(-age).Truncate(time.Second)
			e.Observe(Booted{ArrivedAt: start, At: booted, Resolution: second, BootID: "b"})
			e.Observe(NodeSeen{ArrivedAt: start.Add(time.Second)})
			e.Observe(Booted{ArrivedAt: start.Add(5 * time.Second), At: booted.Add(step), Resolution: second,
				BootID: "b"})
			for after, want := range map[time.Duration]State{6 * time.Second: StateStarting,
				GiveUpAfter - time.Second: StateStarting, GiveUpAfter: StateGivenUp} {
				got, _ := e.Timeline(start.Add(after))
				if got.State != want || got.Reconstructed != (want == StateGivenUp && age > GiveUpAfter) {
					t.Errorf("step %s, boot %s before the agent: after %s, the state is %s, reconstructed %t", step,
						age, after, got.State, got.Reconstructed)
				}
			}
		}
	}
}

// TestClockSetAndReconstructed sets the node's clock while the agent runs. A pod that becomes ready later does not make
// the start-up reconstructed. The pod's times can come from the agent, or from the kubelet's timestamps.
func TestClockSetAndReconstructed(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for _, step := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		for source, readyAt := range map[string]time.Time{"agent": start.Add(20 * time.Second),
			"kubelet": start.Add(20 * time.Second).Round(0).Add(step)} {
			var e Evidence
			booted := start.Add(-3 * time.Hour).Truncate(time.Second)
			e.Observe(Booted{ArrivedAt: start, At: booted, Resolution: second, BootID: "b"})
			e.Observe(NodeSeen{ArrivedAt: start.Add(time.Second)})
			e.Observe(Booted{ArrivedAt: start.Add(5 * time.Second), At: booted.Add(step), Resolution: second,
				BootID: "b"})
			e.Observe(StartUpSeen{workloadPod("web", timeline.StateReady, readyAt)})
			if got, _ := e.Timeline(start.Add(30 * time.Second)); got.State != StateReady || got.Reconstructed {
				t.Errorf("step %s, time from the %s: %s, reconstructed %t", step, source, got.State, got.Reconstructed)
			}
		}
	}
}

// TestFailedPodsOfABatchNode has more pods that fail before they are ready than an Evidence can keep.
func TestFailedPodsOfABatchNode(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{true, false} {
		e := Evidence{}
		e.Observe(Booted{ArrivedAt: at(1001), At: at(1000), Resolution: second, BootID: "b"})
		for i := range maxPods {
			uid := fmt.Sprint("job-", i)
			e.Observe(StartUpSeen{workloadPod(uid, []timeline.State{timeline.StateFailed, timeline.StateSucceeded}[i%2],
				at(1010))})
			if deleted {
				e.Observe(PodGone{UID: uid})
			}
		}
		e.Observe(StartUpSeen{workloadPod("web", timeline.StateReady, at(1020))})
		e.Observe(PodGone{UID: "web"})
		got, _ := e.Timeline(at(1030))
		if ready := got.State == StateReady; ready != deleted || slices.Contains(got.Missing, "pods") == deleted {
			t.Errorf("deleted %t: state %s, missing %q", deleted, got.State, got.Missing)
		}
		got, _ = e.Timeline(at(9000))
		if want := "no known workload was ready within 7999.5 s after boot"; !deleted && got.outcome() != want {
			t.Errorf("verdict %q, want %q", got.outcome(), want)
		}
	}
}

// workloadPod returns the timeline of a workload pod without phases.
func workloadPod(name string, state timeline.State, settledAt time.Time) timeline.Timeline {
	return timeline.Timeline{UID: name, Namespace: "shop", Name: name, State: state, SettledAt: settledAt,
		CreatedAt: settledAt.Add(-2 * time.Second), Total: 2 * time.Second}
}
