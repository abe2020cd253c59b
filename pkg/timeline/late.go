package timeline

import "time"

// LateContainer is one that kubelet starts, mostly again, after the start-up of its pod was over. Where its image is pulled
// for that, the pull is the container's and charged to no start-up. For ephemeral containers there is Debug.
type LateContainer struct {
	Namespace, Pod, Container, Image string
	Kind                             ContainerKind
	Since                            time.Time // its last run ended, floored to a second; zero when it had none
}

// LateContainers are those of a pod that do not run now and may be started.
func (p *Pod) LateContainers() (late []LateContainer) {
	if p.Phase == "Succeeded" || p.Phase == "Failed" || !p.DeletedAt.IsZero() {
		return nil
	}
	for _, c := range p.Containers {
		if c.Kind != KindMain && c.Kind != KindSidecar || c.PullPolicy == PullNever || c.State == StateRunning {
			continue
		}
		l := LateContainer{Namespace: p.Namespace, Pod: p.Name, Container: c.Name, Image: c.Image, Kind: c.Kind, Since: c.FinishedAt}
		if c.LastRun != nil && c.State == StateWaiting {
			l.Since = c.LastRun.FinishedAt
		}
		late = append(late, l)
	}
	return late
}
