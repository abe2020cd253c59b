package timeline

import (
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// leastBlocked is the wait that is worth a blocker: less is how long kubelet takes to hand a pull on.
const leastBlocked = 50 * time.Millisecond

// RelatePulls completes what one pod's evidence cannot tell of its pulls, from those of the other pods of the node: which
// pull each waited for, and whether it found done what another one had begun. It changes the pulls of t, which must be the
// caller's own.
func RelatePulls(t *Timeline, others []Timeline) {
	for i := range t.Pulls {
		p := &t.Pulls[i]
		p.BlockedBy = nil
		for j := range others {
			if others[j].UID == t.UID {
				continue
			}
			for k := range others[j].Pulls {
				p.relate(&others[j], &others[j].Pulls[k])
			}
		}
	}
}

func (p *Pull) relate(other *Timeline, o *Pull) {
	if o.StartedAt.IsZero() || p.RequestedAt.IsZero() {
		return
	}
	if waited := p.waitedFor(o); waited >= leastBlocked && (p.BlockedBy == nil || waited > p.BlockedBy.Waited) {
		p.BlockedBy = &Blocker{other.Namespace, other.Name, o.Container, o.Image, waited}
	}
	if p.Outcome == imagepull.OutcomeDownloaded && p.broughtBy(o) {
		p.Outcome = imagepull.OutcomeJoined
	}
}

// waitedFor is how long p was in the queue while o was pulled.
func (p *Pull) waitedFor(o *Pull) time.Duration {
	if o.FinishedAt.IsZero() || p.StartedAt.IsZero() {
		return 0
	}
	from, to := p.RequestedAt, p.StartedAt
	if o.StartedAt.After(from) {
		from = o.StartedAt
	}
	if o.FinishedAt.Before(to) {
		to = o.FinishedAt
	}
	return to.Sub(from)
}

// broughtBy says that o brought the same image, and had begun before p: it ended while p was in the queue, or p shared
// what it downloaded.
func (p *Pull) broughtBy(o *Pull) bool {
	same := p.Image == o.Image || p.Digest != "" && p.Digest == o.Digest
	switch {
	case !same || o.Outcome != imagepull.OutcomeDownloaded && o.Outcome != imagepull.OutcomePulling:
		return false
	case !p.StartedAt.After(o.StartedAt):
		return false
	}
	return o.FinishedAt.IsZero() || o.FinishedAt.After(p.RequestedAt)
}
