package podwatch

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/redact"
	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// convertImageVolumes converts image volumes to containers. Volumes with the same image become one container.
func convertImageVolumes(volumes []corev1.Volume) (converted []timeline.Container) {
	for i := range volumes {
		image := volumes[i].Image
		if image == nil || image.Reference == "" {
			continue
		}
		reference := untrusted.Text(redact.Text(image.Reference), maxReference)
		volume := timeline.Container{
			Name: timeline.ImageName(reference), Kind: timeline.KindImageVolume, Image: reference,
			PullPolicy: timeline.PullPolicy(image.PullPolicy),
		}
		if !slices.ContainsFunc(converted, func(c timeline.Container) bool { return c.Name == volume.Name }) {
			converted = append(converted, volume)
		}
	}
	return converted
}

// attributePullFailures finds out which image the statuses about failed pulls concern, if the pod has image volumes. If
// the image of a volume cannot be pulled, the kubelet reports the failure in the status of each container that mounts
// the volume (toKubeContainerImageVolumes in pkg/kubelet/kuberuntime).
func attributePullFailures(containers []timeline.Container, status *corev1.PodStatus) {
	if len(containers) == 0 || containers[0].Kind != timeline.KindImageVolume { // image volumes come first
		return
	}
	for _, statuses := range [...][]corev1.ContainerStatus{
		status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses,
	} {
		for i := range statuses {
			waiting := statuses[i].State.Waiting
			named := slices.IndexFunc(containers, func(c timeline.Container) bool { return c.Name == statuses[i].Name })
			if waiting != nil && named >= 0 && containers[named].Kind != timeline.KindImageVolume {
				attributePullFailure(containers, &containers[named], waiting.Message)
			}
		}
	}
}

// attributePullFailure removes the reason of a failed pull from the container c, unless the kubelet's message is about
// the container's own image. If the message is about the image of a volume, the volume gets the reason. The message is
// about the image that it quotes first. But a registry can add text with another image name to the message. So a
// message that contains the name of the container's own image never counts for a volume.
func attributePullFailure(containers []timeline.Container, c *timeline.Container, message string) {
	if c.PullFailure == imagepull.FailureNone {
		return
	}
	message = untrusted.Message(message)
	_, quoted, _ := strings.Cut(message, `"`)
	quoted, _, _ = strings.Cut(quoted, `"`)
	image, own := fullName(quoted), fullName(c.Image)
	volume := slices.IndexFunc(containers, func(v timeline.Container) bool {
		return v.Kind == timeline.KindImageVolume && fullName(v.Image) == image
	})
	switch {
	case volume < 0 && image == own:
		return
	case volume >= 0 && !strings.Contains(message, own):
		v := &containers[volume]
		v.State, v.WaitingReason, v.PullFailure = timeline.StateWaiting, c.WaitingReason, c.PullFailure
	}
	c.PullFailure = imagepull.FailureNone
}

// fullName returns the full name of an image reference. If the reference is invalid, fullName returns the reference
// itself.
func fullName(reference string) string {
	if name, err := imagepull.Normalize(reference); err == nil {
		return name
	}
	return reference
}
