package reconcile

import (
	"context"
	"slices"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Pulling holds the pods and containers of the node for which images may be pulled.
type Pulling struct {
	Timelines []timeline.Timeline      // of Starting, and those with ephemeral containers that are about to run
	Idle      []timeline.IdleContainer // of all pods, except those that still wait for their first run in a start-up
}

// Pulling returns the pods for which images may be pulled. Callers share the timelines and must not
// change them.
func (r *Reconciler) Pulling(ctx context.Context) (Pulling, error) {
	return ask(ctx, r, "pods that images are pulled for", func() Pulling {
		report := Pulling{Timelines: r.startingTimelines()}
		if r.followed > 0 {
			debugged := r.timelinesOf(func(p *pod) bool {
				return p.ephemeral != nil && !p.startedLately(r.cachedStarting.at)
			})
			report.Timelines = timeline.Sorted(slices.Concat(report.Timelines, debugged))
		}
		for _, p := range r.pods {
			report.Idle = append(report.Idle, p.idleContainers()...)
		}
		return report
	})
}

// idleContainers returns the containers for which an image may be pulled outside a start-up.
func (p *pod) idleContainers() []timeline.IdleContainer {
	if p.evidence == nil {
		return p.idle
	}
	return slices.DeleteFunc(p.evidence.IdleContainers(), func(c timeline.IdleContainer) bool {
		return c.RanUntil.IsZero()
	})
}
