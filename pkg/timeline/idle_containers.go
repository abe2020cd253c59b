package timeline

import "time"

// IdleContainer is a container that is not running but that the kubelet can start. Usually, the container has already
// run. A Timeline does not contain the image pulls for runs after the start-up. An ephemeral container is never an
// IdleContainer, because EphemeralEvidence handles ephemeral containers.
type IdleContainer struct {
	Namespace, Pod, Container, Image string
	Kind                             ContainerKind
	// RanUntil is the end of the container's last run, truncated to seconds. RanUntil is zero if no run has ended.
	RanUntil time.Time
}

// IdleContainers returns the pod's main containers and sidecars that are not running, except containers with the pull
// policy Never. IdleContainers returns nil if the pod has ended or is being deleted.
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

// IdleContainers returns the idle containers of the latest pod object.
func (e *Evidence) IdleContainers() []IdleContainer { return e.pod.IdleContainers() }
