package timeline

import (
	"slices"
	"time"
)

// If an image was on the node before a pull, only the timestamp of the image's latest pull shows when the pull ended.
// If another pod's pull of the same image ended a little later, the timestamp belongs to the other pod's pull.

// widenEnd widens the error bounds around the end of the pull p if the timestamp that limits this end might belong to
// another pod's pull.
func (l *PullLog) widenEnd(t *Timeline, p *Pull) {
	stampedAt, since := p.stampedAt, p.endsSince
	p.stampedAt, p.endsSince = 0, 0
	if stampedAt == 0 || !l.mayWriteStamp(stampedAt.time(), p, t.UID) {
		return
	}
	earlier := p.FinishedAt.Sub(since.time())
	if p.Timed {
		p.Error += earlier
	}
	// Other goroutines can read the original phases and milestones.
	t.Phases, t.Milestones = slices.Clone(t.Phases), slices.Clone(t.Milestones)
	for i := range t.Phases {
		if s := &t.Phases[i]; s.StartAt.Equal(p.FinishedAt) || s.EndAt.Equal(p.FinishedAt) {
			s.Error += earlier
		}
	}
	for i := range t.Milestones {
		m := &t.Milestones[i]
		if m.Milestone == MilestonePullFinished && m.Container == p.Container && m.Attempt == p.Attempt &&
			since.time().Before(m.Earliest) {
			m.Earliest = since.time()
		}
	}
}

// mayWriteStamp reports whether a pull of another pod might have written the timestamp of p's image. The kubelet's
// Event about the end of such a pull is at most responseDelay later than the timestamp.
func (l *PullLog) mayWriteStamp(at time.Time, p *Pull, uid string) bool {
	if l.modeFor(p, uid).serial {
		return false
	}
	image := normalizedName(p.Image)
	return l.containsOther(uid, func(o *loggedPull) bool {
		return !o.failed && o.image == image && o.mayRunAt(at) && !o.until.Add(-time.Duration(responseDelay)).After(at)
	})
}
