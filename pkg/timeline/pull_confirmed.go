package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// pullConfirmed reports whether the runtime finished a pull of a container's image during this start-up, according to
// evidence other than Events. A user who can create Events can forge the kubelet's Events. But such a user cannot forge
// the runtime's image store or the kubelet's status.
func (f *fold) pullConfirmed(c *Container, outcome imagepull.Outcome) bool {
	switch outcome {
	case imagepull.OutcomeFailed, imagepull.OutcomePulling, imagepull.OutcomePresent:
		return false
	}
	image, runs := f.usedImage(c), c.runsFromImage()
	switch {
	case runs && (c.PullPolicy == PullAlways || !f.e.scope.Runtime):
		// With PullAlways, the kubelet runs the container only if the registry responded. If the agent cannot query the
		// runtime, the run of the container is the best evidence of a pull.
		return true
	case image == nil:
		return false
	case image.wasAbsent():
		return image.last.Present || runs
	}
	return image.pulledAgain() || image.last.PulledAt.After(f.pickupOrCreation())
}

// failureConfirmed reports whether evidence other than an Event confirms that a pull of a container's image failed for
// the given reason. If the container's image did not change, a container status with the same reason confirms the
// failure. If the image of a volume cannot be pulled, the kubelet reports the failure in the status of each container
// that mounts the volume. The kubelet's message might not name the volume's image. So such a status confirms the
// failure only if all images of the pod are from one registry.
func (f *fold) failureConfirmed(index int16, why imagepull.Failure) bool {
	if own := &f.e.containers[index]; !own.imageChanged() && slices.Contains(own.statusReasons, why) {
		return true
	}
	if !f.e.isVolume(index) {
		return false
	}
	registry := imagepull.Registry(f.e.specOf(index).Image)
	if slices.ContainsFunc(f.e.pod.Containers,
		func(c Container) bool { return imagepull.Registry(c.Image) != registry }) {
		return false
	}
	return slices.ContainsFunc(f.e.containers,
		func(c containerEvidence) bool { return slices.Contains(c.statusReasons, why) })
}

// pickupOrCreation returns the time when the kubelet picked up the pod (status.startTime). If this time is unknown,
// pickupOrCreation returns the pod's creation time. No pull for the pod ended before the returned time. The returned
// time is truncated to seconds.
func (f *fold) pickupOrCreation() time.Time {
	if f.e.pod.AcknowledgedAt.IsZero() {
		return f.e.pod.CreatedAt
	}
	return f.e.pod.AcknowledgedAt
}

// runsFromImage reports whether the container has started at least once, according to the kubelet's status. A container
// that has started proves that its image was on the node.
func (c *Container) runsFromImage() bool {
	return !c.StartedAt.IsZero() || c.LastRun != nil && !c.LastRun.StartedAt.IsZero()
}
