package eventwatch

import (
	"time"

	"github.com/podlapse/podlapse/internal/kubeclient"
)

// proof detects when a watch has delivered all existing Events. Existing Events are the Events that the API server held
// when the agent opened the watch. The API server does not mark the last existing Event. If no existing Event has
// arrived for at least kubeclient.ProvenAfter, the agent assumes that all existing Events have arrived.
//
// Existing Events come from one snapshot, and arrive in the order of their names. New Events arrive in the order of
// their resource versions. So if an Event's version is lower than the highest version so far, the Event is an existing
// Event.
type proof struct {
	timer  *time.Timer
	at     time.Time
	newest uint64 // highest version so far
}

// newProof returns the proof for a watch that begins at the given revision. If a watch begins with all existing Events,
// it first delivers a snapshot of these Events. The snapshot has the given revision or a later revision.
func newProof(revision uint64) *proof {
	return &proof{
		timer: time.NewTimer(kubeclient.ProvenAfter), at: time.Now().Add(kubeclient.ProvenAfter), newest: revision,
	}
}

// observeVersion records the resource version of an Event, and reports whether the version is the highest so far. If
// the version is not a number, observeVersion ignores the version and returns false.
func (p *proof) observeVersion(version string) (highest bool) {
	switch v := revisionOf(version); {
	case v == 0:
		return false
	case v < p.newest:
		p.at = time.Now().Add(kubeclient.ProvenAfter)
		return false
	default:
		p.newest = v
		return true
	}
}

// postpone moves the deadline later by the given duration. During this time, no goroutine read Events from the watch.
func (p *proof) postpone(took time.Duration) {
	p.at = p.at.Add(took)
	p.timer.Reset(time.Until(p.at))
}
