package timeline_test

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/transition"
	"github.com/podlapse/podlapse/internal/transition/transitiontest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestTransitionRecordsAgreeWithTimelines(t *testing.T) {
	everyMoment(t, func(t *testing.T, tl timeline.Timeline, now time.Time) {
		transitiontest.Agree(t, tl, startuptest.Lines(t, transition.Lines, tl, now), now)
	})
}

func TestTransitionRecordsMatchSchema(t *testing.T) {
	schema := transitiontest.Schema(t)
	everyMoment(t, func(t *testing.T, tl timeline.Timeline, now time.Time) {
		for _, line := range startuptest.Lines(t, transition.Lines, tl, now) {
			schema.Check(t, line)
		}
	})
}
