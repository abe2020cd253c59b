package timeline_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/jsonlines"
	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// everyMoment folds each script after each of its observations. everyMoment also folds random observations.
func everyMoment(t *testing.T, check func(t *testing.T, tl timeline.Timeline, now time.Time)) {
	for _, script := range timeline.Scripts(t) {
		t.Run(script.Name, func(t *testing.T) {
			e := timeline.NewEvidence(script.Scope)
			for _, o := range script.Observations {
				e.Apply(o)
				if tl, ok := e.Timeline(script.AsOf, timeline.Skew{}); ok {
					tl.Partial = !e.Settled(script.AsOf)
					check(t, tl, script.AsOf)
				}
			}
		})
	}
	t.Run("nonsense", func(t *testing.T) {
		for seed := range uint64(200) {
			e := timeline.NewEvidence(timeline.Scope{Runtime: seed%2 == 0, Events: seed%3 == 0})
			for _, o := range timeline.RandomObservations(seed) {
				e.Apply(o)
			}
			now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			if tl, ok := e.Timeline(now, timeline.Skew{}); ok {
				check(t, tl, now)
			}
		}
	})
}

func TestTimelineRecordsMatchSchema(t *testing.T) {
	schema := startuptest.TimelineSchema(t)
	everyMoment(t, func(t *testing.T, tl timeline.Timeline, now time.Time) {
		for _, line := range startuptest.Lines(t, jsonlines.TimelineLines, tl, now) {
			schema.Check(t, line)
		}
	})
}

func TestPackedTimelinesEqualTimelines(t *testing.T) {
	everyMoment(t, func(t *testing.T, tl timeline.Timeline, _ time.Time) {
		tl.Termination = nil
		if got := timeline.Pack(tl).Timeline(); !reflect.DeepEqual(got, tl) {
			t.Errorf("got\n%+v, want\n%+v", got, tl)
		}
	})
}
