package whatif

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestUnknownEffect has start-ups in which a change removes much time, but has no prediction. Each reason is written as
// CHANGE/CONTAINER: REASON.
func TestUnknownEffect(t *testing.T) {
	sandbox := part{timeline.PhaseSandbox, "", 1}
	pull := part{timeline.PhasePull, "app", 6}
	start := part{timeline.PhaseContainerStart, "app", 0.5}
	ready := part{timeline.PhaseReadinessProbe, "app", 4}
	seconds := func(n time.Duration) time.Duration { return n * time.Second }
	slowProbe := probed(invented(sandbox, pull, start, ready), "app", timeline.ProbeReadiness, seconds(10))
	slowTimeout := probed(invented(sandbox, pull, start, ready), "app", timeline.ProbeReadiness, seconds(1))
	slowTimeout.Probes[0].Timeout = api.Seconds(seconds(8))
	for _, c := range []struct {
		name   string
		record api.Record
		want   string
	}{
		{"long probe period", slowProbe,
			"images_on_node: the readiness probe of app might succeed up to 10.0 s later by chance"},
		{"first probe succeeds", probed(invented(sandbox, pull, start, part{timeline.PhaseReadinessProbe, "app", 1}),
			"app", timeline.ProbeReadiness, seconds(10)),
			"images_on_node: the readiness probe of app might succeed up to 10.0 s later by chance"},
		{"long probe timeout", slowTimeout,
			"images_on_node: the readiness probe of app might succeed up to 8.0 s later by chance"},
		{"two probes", probed(probed(invented(sandbox, pull, start, part{timeline.PhaseStartupProbe, "app", 0.5},
			part{timeline.PhaseReadinessProbe, "app", 0.5}), "app", timeline.ProbeReadiness, seconds(5)), "app",
			timeline.ProbeStartup, seconds(8)),
			"images_on_node: the probes of app might succeed up to 13.0 s later by chance"},
		{"short probe period", probed(invented(sandbox, pull, start, ready), "app", timeline.ProbeReadiness,
			seconds(1)), ""},
		{"container that starts before the pull, with a long probe period", probed(invented(sandbox, start,
			part{timeline.PhasePull, "second", 6}, part{timeline.PhaseContainerStart, "second", 0.5},
			part{timeline.PhaseReadinessProbe, "app", 40}), "app", timeline.ProbeReadiness, seconds(10)), ""},
		{"short pull", probed(invented(sandbox, part{timeline.PhasePull, "app", 1}, start,
			part{timeline.PhaseReadinessProbe, "app", 20}), "app", timeline.ProbeReadiness, seconds(10)), ""},
		{"pull before a missing ConfigMap", invented(sandbox, pull, part{timeline.PhaseContainerConfig, "app", 12},
			start, part{timeline.PhaseKubeletSync, "app", 0.5}),
			"images_on_node: the pod might wait in a later phase (container config), and such a wait might not end " +
				"earlier"},
		{"pull before a readiness gate", invented(sandbox, pull, start, part{timeline.PhaseKubeletSync, "app", 0.5},
			part{timeline.PhaseReadinessGates, "", 3}),
			"images_on_node: the pod might wait in a later phase (readiness gates), and such a wait might not end " +
				"earlier"},
		{"another container restarted", invented(sandbox, start, part{timeline.PhasePull, "second", 20},
			part{timeline.PhaseContainerStart, "second", 0.5}, start, part{timeline.PhaseKubeletSync, "app", 0.5}),
			"images_on_node: the record might not show all failed runs of app"},
		{"merged phases", func() api.Record {
			r := invented(part{timeline.PhaseUnattributed, "", 6}, sandbox, part{timeline.PhasePull, "app", 3}, start,
				part{timeline.PhaseKubeletSync, "app", 0.5})
			r.Phases[0].MergedWith = []timeline.Phase{timeline.PhasePull, timeline.PhaseNetwork}
			return r
		}(), "images_on_node: the evidence does not separate the saved time from other steps"},
	} {
		_, unknown := Predict(c.record)
		var got []string
		for _, u := range unknown {
			got = append(got, strings.TrimSuffix(string(u.Change)+"/"+u.Container, "/")+": "+u.Reason)
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, text, c.want)
		}
	}
}

// TestUnknownMeans has a workload whose probe runs too seldom for predictions. If one start-up has a prediction for the
// change, the effect of the change is not unknown.
func TestUnknownMeans(t *testing.T) {
	record := func(i int, pull float64) api.Record {
		r := probed(invented(part{timeline.PhaseSandbox, "", 1}, part{timeline.PhasePull, "app", pull},
			part{timeline.PhaseContainerStart, "app", 0.5}, part{timeline.PhaseReadinessProbe, "app", 4}), "app",
			timeline.ProbeReadiness, 10*time.Second)
		r.ID = fmt.Sprint(i)
		return r
	}
	records := []api.Record{record(1, 6), record(2, 7), record(3, 0.1), record(4, 0.1)}
	want := api.WhatIfUnknown{Change: api.WhatIfImages, Text: "with the image on the node",
		Reason: "the readiness probe of app might succeed up to 10.0 s later by chance"}
	if _, unknown := Means(records); len(unknown) != 1 || unknown[0] != want {
		t.Errorf("got %+v, want %+v", unknown, want)
	}
	if _, unknown := Means(append(records, record(5, 0.1))); len(unknown) > 0 {
		t.Errorf("in less than half of the start-ups: %+v", unknown)
	}
	if _, unknown := Means(append(records, record(5, 60))); len(unknown) > 0 {
		t.Errorf("with a prediction in one start-up: %+v", unknown)
	}
}
