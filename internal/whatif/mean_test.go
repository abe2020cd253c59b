package whatif

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMeans(t *testing.T) {
	record := func(id string, pull float64) api.Record {
		r := invented(part{timeline.PhaseSandbox, "", 1}, part{timeline.PhasePull, "app", pull},
			part{timeline.PhaseContainerStart, "app", 0.5}, part{timeline.PhaseKubeletSync, "app", 0.5})
		r.ID = id
		return r
	}
	running := record("d", 20)
	running.State = timeline.StateStarting
	unknown := record("e", 20)
	unknown.TotalError = unknown.Total
	early := record("b", 30) // an earlier record of start-up b
	early.Partial = true
	records := []api.Record{record("a", 10), record("b", 20), early, record("c", 0.1), running, unknown,
		record("a", 10)}
	want := api.WhatIfMean{Change: api.WhatIfImages, Text: "with the image on the node",
		Effect:     "on average about 2.0 s instead of 17.0 s (1.4 to 2.9 s) in 2 of 3 start-ups",
		Assumption: "if the pull policy is not Always", StartUps: 2, Of: 3, Total: api.Seconds(17 * time.Second),
		// the means of 12 and 22 s, of 10 - 0.6 and 20 - 0.6 s, and of 10 + 0.5 and 20 + 0.5 s
		Gain:      api.Seconds(15 * time.Second),
		GainLeast: api.Seconds(14400 * time.Millisecond), GainMost: api.Seconds(15500 * time.Millisecond),
		TotalLeast: api.Seconds(1350 * time.Millisecond), TotalMost: api.Seconds(2860 * time.Millisecond),
	}
	for range 2 {
		if got, _ := Means(records); len(got) != 1 || got[0] != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		slices.Reverse(records)
	}
	if got, _ := Means(nil); got == nil || len(got) > 0 {
		t.Errorf("got %v, want an empty list", got)
	}
}

// TestMeansAreOrdered predicts two changes for four pods. One change helps only one pod, and saves the most time in
// this pod. The other change comes first, because it saves more time in all pods together.
func TestMeansAreOrdered(t *testing.T) {
	var records []api.Record
	for i := range 4 {
		parts := []part{{timeline.PhaseSandbox, "", 1}, {timeline.PhaseContainerStart, "init", 0.5},
			{timeline.PhaseInitRun, "init", 10}, {timeline.PhaseKubeletSync, "app", 0.5}}
		if i == 0 {
			parts = append(parts, part{timeline.PhasePull, "app", 20})
		}
		r := invented(append(parts, part{timeline.PhaseContainerStart, "app", 0.5},
			part{timeline.PhaseKubeletSync, "app", 0.5})...)
		r.ID = fmt.Sprint(i)
		records = append(records, r)
	}
	got, _ := Means(records)
	if len(got) != 2 || got[0].Change != api.WhatIfSidecar || got[0].StartUps != 4 ||
		got[1].Change != api.WhatIfImages || got[1].StartUps != 1 {
		t.Errorf("%+v", got)
	}
}

// TestDifferentTexts has pods that each lacked a different ConfigMap. The mean must not name one of them for all pods.
func TestDifferentTexts(t *testing.T) {
	sum := total{texts: map[[2]string]int{}}
	var record api.Record
	for i := range 3 {
		sum.add(&record, api.WhatIfRecord{Change: api.WhatIfConfig, Container: "app",
			Text: fmt.Sprint("without the missing ConfigMap config-", i)})
	}
	text, assumption := commonText(sum.texts, changeKey{api.WhatIfConfig, "app"})
	if text != "without the wait for the configuration of app" ||
		assumption != "if the configuration is complete when the pod is created" {
		t.Errorf("got %q, %q", text, assumption)
	}
}
