package reconcile

import (
	"sync"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// The race detector makes this test fail if newSettled writes to the timeline. Requests can read the timeline at the
// same time.
func TestNewSettledOnlyReadsTimeline(t *testing.T) {
	at := time.Unix(1, 2).UTC()
	whole := timeline.Timeline{
		CreatedAt: at, Total: 1, Partial: true, Missing: []string{"network"},
		Phases: []timeline.Span{{Attempt: 1, StartAt: at, Open: true, Sources: []timeline.Source{timeline.SourceCRI},
			Pressure: &timeline.Pressure{CPU: 0.5}, MergedWith: []timeline.Phase{timeline.PhasePull}}},
		Milestones: []timeline.MilestoneEvidence{{At: at, Attempt: 1, Sources: []timeline.Source{timeline.SourceCRI}}},
	}
	var settling sync.WaitGroup
	for range 2 {
		settling.Go(func() { newSettled(whole) })
	}
	settling.Wait()
}
