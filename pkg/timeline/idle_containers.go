package timeline

import "time"

// IdleContainer is one that does not run and that the kubelet may start, mostly again. Where its image is pulled for that, no
// Pull of a Timeline tells of it. For ephemeral containers there is Debug.
type IdleContainer struct {
	Namespace, Pod, Container, Image string
	Kind                             ContainerKind
	RanUntil                         time.Time // its last run's end, floored to a second; zero when it had none
}

// IdleContainers are those of a pod that do not run now.
func (p *Pod) IdleContainers() (all []IdleContainer) {
	if p.Phase == "Succeeded" || p.Phase == "Failed" || !p.DeletedAt.IsZero() {
		return nil
	}
	for i := range p.Containers {
		c := &p.Containers[i]
		if c.Kind != KindMain && c.Kind != KindSidecar || c.PullPolicy == PullNever || c.State == StateRunning {
			continue
		}
		idle := IdleContainer{Namespace: p.Namespace, Pod: p.Name, Container: c.Name, Image: c.Image, Kind: c.Kind, RanUntil: c.FinishedAt}
		if c.LastRun != nil && c.State == StateWaiting {
			idle.RanUntil = c.LastRun.FinishedAt
		}
		all = append(all, idle)
	}
	return all
}

// IdleContainers are those of the pod object as last seen.
func (e *Evidence) IdleContainers() []IdleContainer { return e.pod.IdleContainers() }
