package timeline

import (
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

const (
	// maxPullLog is how many pulls are remembered; a queue is seldom longer.
	maxPullLog = 256
	// leastBlocked is the wait that is worth a name: less is how long kubelet takes to hand a pull on.
	leastBlocked = 50 * time.Millisecond
)

// PullLog remembers the node's latest pulls, as kubelet's Events told of them, to complete what one pod's evidence cannot
// tell of its own: which pull it waited for, and whether another one had brought the image. Not safe for concurrent use.
type PullLog struct {
	pulls  []loggedPull // the oldest first
	layers recentLayers
}

// loggedPull is one pull that succeeded.
type loggedPull struct {
	uid         string
	blocker     Blocker
	from, until time.Time // the runtime was asked, and answered
}

// Observe notes the pull that an Event about a pod tells of; most tell of none.
func (l *PullLog) Observe(o EventSeen, pod Pod) {
	m := imagepull.ParseMessage(o.Reason, o.Message)
	if m.Kind != imagepull.KindPulled || !m.Timed {
		return
	}
	until := o.NamedAt
	if m.Combined || until.IsZero() {
		until = o.LastAt
	}
	name := o.Container
	if m.Combined || name == "" {
		name = ImageName(m.Image)
	}
	logged := loggedPull{o.UID, Blocker{pod.Namespace, pod.Name, name, m.Image, 0}, until.Add(-m.Pull), until}
	for _, known := range l.pulls {
		if known == logged { // the same Event again
			return
		}
	}
	if len(l.pulls) == maxPullLog {
		l.pulls = append(l.pulls[:0], l.pulls[1:]...)
	}
	l.pulls = append(l.pulls, logged)
}

// Settle completes a timeline for the last time: from now on its layers count as its own.
func (l *PullLog) Settle(t *Timeline) {
	l.Complete(t)
	for _, p := range t.Pulls {
		for _, layer := range p.Layers {
			l.layers.add(layer, t.UID)
		}
	}
}

// Complete adds to the pulls of a timeline what those of other pods tell. The pulls must be the caller's own.
func (l *PullLog) Complete(t *Timeline) {
	for i := range t.Pulls {
		p := &t.Pulls[i]
		p.Shared = l.layers.sharedBy(p.Layers, t.UID)
		for _, o := range l.pulls {
			if o.uid == t.UID || !p.Timed || !p.QueueTimed {
				continue
			}
			if waited := o.during(p.RequestedAt, p.StartedAt); waited >= leastBlocked && (p.BlockedBy == nil || waited > p.BlockedBy.Waited) {
				b := o.blocker
				b.Waited = waited
				p.BlockedBy = &b
			}
			if p.Outcome == imagepull.OutcomeDownloaded && o.brought(p) {
				p.Outcome = imagepull.OutcomeJoined
			}
		}
	}
}

// during is how much of a stretch of time the pull took.
func (o loggedPull) during(from, until time.Time) time.Duration {
	if o.from.After(from) {
		from = o.from
	}
	if o.until.Before(until) {
		until = o.until
	}
	return until.Sub(from)
}

// brought says that the pull brought the image that p asked for: it had begun before, and ended when p was in the queue or
// went on while p found its content.
func (o loggedPull) brought(p *Pull) bool {
	return o.blocker.Image == p.Image && o.from.Before(p.StartedAt) && o.until.After(p.RequestedAt)
}
