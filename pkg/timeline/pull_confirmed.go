package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// confirmed says that more than an Event shows that the runtime finished a pull of a container's image during this
// start-up. Whoever may create Events can forge the kubelet's; the runtime's image store, and the status that the kubelet
// writes, they cannot.
func (f *fold) confirmed(c *Container, outcome imagepull.Outcome) bool {
	switch outcome {
	case imagepull.OutcomeFailed, imagepull.OutcomePulling, imagepull.OutcomePresent:
		return false
	}
	image, runs := f.e.image(c.Image), c.runsFromImage()
	switch {
	case runs && (c.PullPolicy == PullAlways || !f.e.scope.Runtime):
		return true // the kubelet runs it only if the registry answered; or nobody can say more than that it runs from the image
	case image == nil:
		return false
	case image.wasAbsent():
		return image.last.Present || runs
	}
	return image.pulledAgain() || image.last.PulledAt.After(f.began())
}

// failureConfirmed says that more than an Event shows that a pull of a container's image failed for a reason: a status of the pod
// object said so. The kubelet refuses each container that wants a volume whose image it cannot get, with the failure of that one.
func (f *fold) failureConfirmed(index int16, why imagepull.Failure) bool {
	if !f.e.isVolume(index) {
		return slices.Contains(f.e.containers[index].statusReasons, why)
	}
	return slices.ContainsFunc(f.e.containers, func(c containerEvidence) bool { return slices.Contains(c.statusReasons, why) })
}

// began is when the kubelet took the pod up, or else when the pod was made: by then no pull for it had ended. Both are
// floored to a second.
func (f *fold) began() time.Time {
	if f.e.pod.AcknowledgedAt.IsZero() {
		return f.e.pod.CreatedAt
	}
	return f.e.pod.AcknowledgedAt
}

// runsFromImage says that the kubelet's status knows of a run of the container.
func (c *Container) runsFromImage() bool {
	return !c.StartedAt.IsZero() || c.LastRun != nil && !c.LastRun.StartedAt.IsZero()
}
