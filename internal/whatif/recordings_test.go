package whatif

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestRecordings predicts changes of start-ups that the lab recorded on a real node. The fault of each start-up is
// known. So the change that removes the fault must be predicted, and must save at most the time of the fault, plus the
// error bounds of its phases, 1.1 s for the kubelet's list and 1 s for a probe with a period of 1 s.
func TestRecordings(t *testing.T) {
	const periods = 2100 * time.Millisecond
	for _, c := range []struct {
		name   string
		change api.WhatIf // empty if the evidence does not bound the gain of any change
		phases []timeline.Phase
	}{
		{"blame-linked-4", api.WhatIfImages, []timeline.Phase{timeline.PhasePull, timeline.PhaseUnpack}},
		{"blame-mirror", api.WhatIfImages, []timeline.Phase{timeline.PhasePull, timeline.PhaseUnpack}},
		{"blame-twelve-containers", api.WhatIfImages, []timeline.Phase{timeline.PhasePull, timeline.PhaseUnpack,
			timeline.PhasePullQueue}},
		{"blame-pause-image", api.WhatIfSandboxImage, []timeline.Phase{timeline.PhaseSandboxImage}},
		{"blame-pause-image-host-network", api.WhatIfSandboxImage, []timeline.Phase{timeline.PhaseSandboxImage}},
		{"blame-runtime-class", api.WhatIfConfig, []timeline.Phase{timeline.PhasePodConfig}},
		{"blame-volume-configmap", "", nil},        // the error bound of pod_config is as large as pod_config
		{"blame-containerd-restarted", "", nil},    // time after the back-off is unattributed
		{"blame-network-away", "", nil},            // no change concerns the network
		{"blame-exits-with-0", "", nil},            // the pod was deleted
		{"every-fault", "", nil},                   // the owner of a readiness gate decides when the pod is ready
		{"cold-start", "", nil},                    // the pull is shorter than the smallest gain
		{"blame-containerd-amid-sandbox", "", nil}, // the time is unattributed
	} {
		predictions := predictionsOf(recorded(t, c.name))
		if c.change == "" {
			if len(predictions) > 0 {
				t.Errorf("%s: %+v, want no prediction", c.name, predictions)
			}
			continue
		}
		i := slices.IndexFunc(predictions, func(p api.WhatIfRecord) bool { return p.Change == c.change })
		if i < 0 {
			t.Errorf("%s: %+v, want %s", c.name, predictions, c.change)
			continue
		}
		r, p := recorded(t, c.name), predictions[i]
		var fault, bound time.Duration
		for _, phase := range r.Phases {
			if slices.Contains(c.phases, phase.Phase) {
				fault, bound = fault+phase.Length.Duration(), bound+phase.Error.Duration()
			}
		}
		if p.GainLeast.Duration() > fault+bound || p.GainMost.Duration() < fault-bound ||
			p.GainMost.Duration() > fault+bound+periods || p.GainLeast.Duration() < fault-bound-periods {
			t.Errorf("%s: gain %s to %s s, want about %s ±%s", c.name, p.GainLeast, p.GainMost, fault, bound)
		}
		if p.TotalLeast < 0 || p.TotalLeast > p.TotalMost || p.TotalMost > r.Total+r.TotalError {
			t.Errorf("%s: total %s to %s s of %s s", c.name, p.TotalLeast, p.TotalMost, r.Total)
		}
	}
}

// TestOldRecordsHaveNoProbes removes the settings of the probes, as in a record of an earlier agent. Without the period
// of a probe, a start-up that waited for the probe has no prediction.
func TestOldRecordsHaveNoProbes(t *testing.T) {
	r := recorded(t, "blame-linked-4")
	r.Probes = nil
	if predictions := predictionsOf(r); len(predictions) > 0 {
		t.Errorf("%+v", predictions)
	}
}

// recorded replays a recording of one pod. The recordings do not contain the settings of the probes, which have a
// period of 1 s.
func recorded(t *testing.T, name string) api.Record {
	t.Helper()
	file, err := os.Open(fmt.Sprintf("../recording/testdata/%s.jsonl", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	timelines, err := recording.Replay(recording.NewReader(file))
	if err != nil || len(timelines) != 1 {
		t.Fatalf("%s has %d timelines, error %v", name, len(timelines), err)
	}
	r := api.NewRecord(timelines[0])
	for _, phase := range r.Phases {
		for kind, name := range probePhases() {
			if phase.Phase == name {
				r.Probes = append(r.Probes, api.ProbeRecord{Container: phase.Container, Kind: kind,
					Period: api.Seconds(time.Second), Timeout: api.Seconds(time.Second), SuccessThreshold: 1})
			}
		}
	}
	return r
}
