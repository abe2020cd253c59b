package web

import (
	"net/http"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestWhatIf asks for a present pod and for a deleted pod. Only the answer about one pod contains predictions.
func TestWhatIf(t *testing.T) {
	f := &fake{timelines: []timeline.Timeline{predictable("web-0")}, gone: []timeline.Timeline{predictable("web-1")}}
	for _, name := range []string{"web-0", "web-1"} {
		record := decode[api.Record](t, f.ask(t, http.MethodGet, "/api/v1/pods/shop/"+name))
		if len(record.WhatIf) != 1 || record.WhatIf[0].Change != api.WhatIfImages {
			t.Errorf("%s: %+v, want a prediction about the image", name, record.WhatIf)
		}
	}
	for _, record := range decode[api.PodList](t, f.ask(t, http.MethodGet, "/api/v1/pods")).Items {
		if record.WhatIf != nil {
			t.Errorf("the list contains the predictions %+v", record.WhatIf)
		}
	}
}

// predictable returns a start-up that took 12 s, of which 5 s were a pull and 1 s was the wait for the pull.
func predictable(name string) timeline.Timeline {
	tl := startuptest.ColdStart()
	tl.Name, tl.UID = name, name
	for _, container := range []string{"setup", "app"} {
		tl.Milestones = append(tl.Milestones, timeline.MilestoneEvidence{Milestone: timeline.MilestoneRunning,
			Container: container, Earliest: startuptest.After(10 * time.Second),
			Latest: startuptest.After(10 * time.Second)})
	}
	tl.Probes = []timeline.Probe{{Container: "app", Kind: timeline.ProbeReadiness,
		ProbeTiming: timeline.ProbeTiming{Period: time.Second, Timeout: time.Second, Successes: 1}}}
	return tl
}
