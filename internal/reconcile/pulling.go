package reconcile

import (
	"context"
	"slices"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Pulling holds the node's pods and containers for which the kubelet can pull images.
type Pulling struct {
	// pods that the method Starting returns, and pods with ephemeral containers that wait to run
	Timelines []timeline.Timeline
	Idle      []timeline.IdleContainer // containers of all pods, except containers that wait for their first run
}

// Pulling returns the pods for which the kubelet can pull images. Callers share the timelines and must not change
// them.
func (r *Reconciler) Pulling(ctx context.Context) (Pulling, error) {
	return ask(ctx, r, "pods with image pulls", func() Pulling {
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

// idleContainers returns the containers for which the kubelet can pull an image outside a start-up.
func (p *pod) idleContainers() []timeline.IdleContainer {
	if p.evidence == nil {
		return p.idle
	}
	return slices.DeleteFunc(p.evidence.IdleContainers(), func(c timeline.IdleContainer) bool {
		return c.RanUntil.IsZero()
	})
}
