package reconcile

import (
	"context"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Pulling holds the node's pods and containers for which the kubelet can pull images.
type Pulling struct {
	// Timelines contains the timelines that the method Starting returns. Timelines also contains the timelines of pods
	// whose ephemeral containers the Reconciler follows.
	Timelines []timeline.Timeline
	// Idle contains containers that are not running. The kubelet can pull an image for each of these containers. While
	// a pod is starting, Idle contains a container of the pod only if the container has already completed a run.
	Idle []timeline.IdleContainer
}

// Pulling returns the pods for which the kubelet can pull images. Callers share the timelines and must not change
// them.
func (r *Reconciler) Pulling(ctx context.Context) (Pulling, error) {
	return runQuery(ctx, r, "pods with image pulls", func() Pulling {
		report := Pulling{Timelines: r.startingTimelines()}
		if r.followed > 0 {
			debugged := r.timelinesOf(func(p *pod) bool {
				return p.ephemeral != nil && !p.startedLately(r.cachedStarting.at)
			})
			report.Timelines = timeline.Sorted(slices.Concat(report.Timelines, debugged))
		}
		for _, p := range r.pods {
			report.Idle = append(report.Idle, p.idleContainers(r.cachedStarting.at)...)
		}
		return report
	})
}

// idleContainers returns the pod's containers that belong in Pulling.Idle.
func (p *pod) idleContainers(now time.Time) []timeline.IdleContainer {
	if p.evidence == nil {
		return p.idle
	}
	idle := p.evidence.IdleContainers()
	if !p.startedLately(now) {
		return idle
	}
	return slices.DeleteFunc(idle, func(c timeline.IdleContainer) bool {
		return c.RanUntil.IsZero()
	})
}
