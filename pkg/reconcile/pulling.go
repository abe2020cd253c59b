package reconcile

import (
	"context"
	"slices"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Pulling is what of the node's pods may be pulled for.
type Pulling struct {
	Timelines []timeline.Timeline      // of Starting, and those with ephemeral containers that are about to run
	Idle      []timeline.IdleContainer // of all pods, but for those that still wait for their first run in a start-up
}

// Pulling tells of the pods for which images may be pulled.
func (r *Reconciler) Pulling(ctx context.Context) (Pulling, error) {
	return ask(ctx, r, "pods that images are pulled for", func() Pulling {
		now := r.config.Now()
		told := Pulling{Timelines: r.tell(func(p *pod) bool { return p.startedLately(now) || p.debug != nil })}
		for _, p := range r.pods {
			told.Idle = append(told.Idle, p.idleContainers()...)
		}
		return told
	})
}

// idleContainers are those that may be pulled for, if not for a start-up.
func (p *pod) idleContainers() []timeline.IdleContainer {
	if p.evidence == nil {
		return p.idle
	}
	object := p.evidence.Pod()
	return slices.DeleteFunc(object.IdleContainers(), func(c timeline.IdleContainer) bool { return c.RanUntil.IsZero() })
}
