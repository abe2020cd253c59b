package timeline

import "time"

// IdleContainer is a container that is not running and that the kubelet may start, usually again. If its image is
// pulled for that, the pull is in no Timeline. For ephemeral containers there is EphemeralEvidence.
type IdleContainer struct {
	Namespace, Pod, Container, Image string
	Kind                             ContainerKind
	RanUntil                         time.Time // the end of its last run, truncated to seconds; zero without one
}

// IdleContainers returns the containers of a pod that are not running now.
func (p *Pod) IdleContainers() (all []IdleContainer) {
	if p.Phase == "Succeeded" || p.Phase == "Failed" || !p.DeletedAt.IsZero() {
		return nil
	}
	for i := range p.Containers {
		c := &p.Containers[i]
		if c.Kind != KindMain && c.Kind != KindSidecar || c.PullPolicy == PullNever || c.State == StateRunning {
			continue
		}
		idle := IdleContainer{Namespace: p.Namespace, Pod: p.Name, Container: c.Name, Image: c.Image, Kind: c.Kind,
			RanUntil: c.FinishedAt}
		if c.LastRun != nil && c.State == StateWaiting {
			idle.RanUntil = c.LastRun.FinishedAt
		}
		all = append(all, idle)
	}
	return all
}

// IdleContainers returns the idle containers of the pod object as last seen.
func (e *Evidence) IdleContainers() []IdleContainer { return e.pod.IdleContainers() }
