package timeline_test

import (
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/whatif"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestPredictionsOfScripts predicts changes of the start-up in each script. The intervals must be sound. With the image
// on the node, the start-up saves at most the failed pulls, the waits after them and the successful pull. The only
// other differences are chance: the waits for the kubelet's list of containers, for probes, and for the last status.
func TestPredictionsOfScripts(t *testing.T) {
	const relist = 1100 * time.Millisecond
	saved := []timeline.Phase{timeline.PhasePullQueue, timeline.PhasePull, timeline.PhaseUnpack,
		timeline.PhaseImagePull, timeline.PhaseImageBackoff}
	predicted := 0
	for name, r := range scriptRecords(t) {
		waits := api.Seconds(len(r.Pulls)) * api.Seconds(relist) // at least one entry for each container
		for _, probe := range r.Probes {
			waits += max(probe.Period, probe.Timeout)
		}
		for i, phase := range r.Phases {
			mayBe := append(slices.Clone(phase.MergedWith), phase.Phase)
			if len(phase.MergedWith) == 0 && phase.Phase == timeline.PhaseUnattributed ||
				i == len(r.Phases)-1 && phase.Phase.IsFinalWait() && phase.Cause == timeline.CauseKubelet ||
				slices.ContainsFunc(mayBe, func(p timeline.Phase) bool { return slices.Contains(saved, p) }) {
				waits += phase.Length + phase.Error
			}
		}
		predictions, _ := whatif.Predict(r)
		for _, p := range predictions {
			if p.GainLeast > p.GainMost || p.GainMost > r.Total || p.TotalLeast < 0 || p.TotalLeast > p.TotalMost ||
				p.Gain != 0 && (p.Gain < p.GainLeast || p.Gain > p.GainMost) {
				t.Errorf("%s: %+v of a start-up of %s s", name, p, r.Total)
			}
			if p.Change != api.WhatIfImages {
				continue
			}
			if predicted++; p.GainMost > waits {
				t.Errorf("%s: gain of up to %s s, want at most %s s", name, p.GainMost, waits)
			}
		}
	}
	if predicted < 20 {
		t.Errorf("%d scripts have a prediction, want at least 20", predicted)
	}
}

// TestPredictionsAfterFailedPulls has start-ups with two failed pulls and a successful third pull. The image is the
// only reason for the time from 0.5 s to 34.05 s. With the image on the node, the start-up saves this time, unless
// another container is ready later.
func TestPredictionsAfterFailedPulls(t *testing.T) {
	records := scriptRecords(t)
	alone, beside := records["image-backoff"], records["image-backoff-beside-slow-container"]
	const truth = api.Seconds(33550 * time.Millisecond)
	p, _ := whatif.Predict(alone)
	if len(p) != 1 || p[0].Change != api.WhatIfImages || (p[0].Gain-truth).Duration().Abs() > 20*time.Millisecond ||
		p[0].GainLeast > truth || p[0].GainMost < truth || p[0].GainLeast < truth-truth/20 ||
		p[0].TotalLeast > alone.Total-truth || p[0].TotalMost < alone.Total-truth {
		t.Errorf("%+v, want a gain of %s s", p, truth)
	}
	if p, _ := whatif.Predict(beside); len(p) > 0 {
		t.Errorf("%+v, want no prediction, because the other container is ready only at 30 s", p)
	}
}

// scriptRecords returns the record of the start-up in each script, by the name of the script.
func scriptRecords(t *testing.T) map[string]api.Record {
	t.Helper()
	records := map[string]api.Record{}
	for _, script := range timeline.Scripts(t) {
		e := timeline.NewEvidence(script.Scope)
		for _, o := range script.Observations {
			e.Apply(o)
		}
		if tl, ok := e.Timeline(script.AsOf, timeline.Skew{}); ok {
			records[script.Name] = api.NewRecord(tl)
		}
	}
	return records
}
