package api

import (
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Quality describes the problems with the evidence of a start-up.
type Quality struct {
	Reconstructed, Conflicts, Missing, LostEvents, Unreported bool
	Unattributed                                              time.Duration // sum of the phases "unattributed"
}

// QualityOf returns the quality of a timeline's evidence.
func QualityOf(t timeline.Timeline) Quality {
	q := Quality{
		Reconstructed: t.Reconstructed, Conflicts: len(t.Conflicts) > 0, Missing: len(t.Missing) > 0,
		LostEvents: len(t.LostEvents) > 0, Unreported: len(t.Unreported) > 0,
	}
	for _, s := range t.Phases {
		if s.Phase == timeline.PhaseUnattributed {
			q.Unattributed += s.Duration()
		}
	}
	return q
}

// Add counts one start-up, with the quality of its evidence and its total duration.
func (r *EvidenceRecord) Add(q Quality, total time.Duration) {
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	count(&r.StartUps.Known, true)
	count(&r.StartUps.Reconstructed, q.Reconstructed)
	count(&r.StartUps.WithConflicts, q.Conflicts)
	count(&r.StartUps.WithMissing, q.Missing)
	count(&r.StartUps.WithLostEvents, q.LostEvents)
	count(&r.StartUps.WithUnreported, q.Unreported)
	r.Total += Seconds(total)
	r.Unattributed += Seconds(q.Unattributed)
}
