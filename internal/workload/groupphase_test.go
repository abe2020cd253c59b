package workload

import (
	"testing"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestUnattributedTimeIsNoDifference uses the same true durations in both revisions: 5 s of pulling and 2 s of
// unpacking. The evidence of the first revision cannot separate the two phases. So the summary must not state that one
// phase changed.
func TestUnattributedTimeIsNoDifference(t *testing.T) {
	merged := func(candidates []timeline.Phase, like invented) []api.Record {
		records := several(8, like)
		for i := range records {
			records[i].Phases[1].Phase, records[i].Phases[1].Cause = timeline.PhaseUnattributed, timeline.CauseUnknown
			records[i].Phases[1].MergedWith = candidates
		}
		return records
	}
	old := invented{name: "old", revision: "b", pull: 7, ready: 2}
	latest := several(8, invented{name: "new", revision: "a", minute: 1, pull: 5, unpack: 2, ready: 6})
	for name, records := range map[string][]api.Record{
		"candidates": merged([]timeline.Phase{timeline.PhasePull, timeline.PhaseUnpack}, old),
		"none":       merged(nil, old),
	} {
		d := Summarize(join(records, latest), Options{}).Comparison.Difference
		for _, part := range d.Parts {
			if part.Phase != timeline.PhaseReadinessProbe {
				t.Errorf("%s: part %+v, but the truth differs only in the readiness", name, part)
			}
		}
		if stated := len(d.Parts) == 1; d.Verdict != api.MoreThanNoise || stated != (name == "candidates") {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestGroupPhase uses two revisions whose pulls take 1 s and 8 s. The nodes report the phase image_pull, because their
// runtimes do not separate pulling from unpacking. If only one revision ran on such nodes, the same work has different
// phases, and the summary must not state that a phase changed.
func TestGroupPhase(t *testing.T) {
	grouped := func(records []api.Record) []api.Record {
		for i := range records {
			pull := &records[i].Phases[1]
			pull.Phase, pull.Cause = timeline.PhaseImagePull, timeline.CauseOf(timeline.PhaseImagePull)
			pull.MergedWith = []timeline.Phase{timeline.PhasePull, timeline.PhaseUnpack}
		}
		return records
	}
	fast := invented{name: "old", revision: "b", pull: 1, ready: 2}
	slow := invented{name: "new", revision: "a", minute: 1, pull: 8, ready: 2}
	d := Summarize(join(grouped(several(8, fast)), grouped(several(8, slow))), Options{}).Comparison.Difference
	if len(d.Parts) != 1 || d.Parts[0].Phase != timeline.PhaseImagePull {
		t.Errorf("got %+v, want a proven difference in image_pull", d)
	}
	split := several(8, invented{name: "new", revision: "a", minute: 1, pull: 6, unpack: 2, ready: 6})
	fast.pull = 8
	d = Summarize(join(grouped(several(8, fast)), split), Options{}).Comparison.Difference
	for _, part := range d.Parts {
		if part.Phase != timeline.PhaseReadinessProbe {
			t.Errorf("part %+v, but the truth differs only in the readiness", part)
		}
	}
}
