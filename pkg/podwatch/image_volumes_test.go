package podwatch

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestPullFailureNamesVolume checks that a failed pull counts for the image that the kubelet's message names. The first
// two messages are from kubelet 1.36 and containerd 2.
func TestPullFailureNamesVolume(t *testing.T) {
	const refused = `failed to do request: Head "https://r1.example/v2/data/manifests/1": dial tcp 10.0.0.1:443: ` +
		`connect: connection refused`
	pulled := func(image string) string {
		return `rpc error: code = Unknown desc = failed to pull and unpack image "` + image +
			`": failed to resolve reference "` + image + `": ` + refused
	}
	const none, failed = imagepull.FailureNone, imagepull.FailureConnectionRefused
	for name, test := range map[string]struct {
		reason, message string
		own, volume     imagepull.Failure
	}{
		"the volume's image":    {"ErrImagePull", pulled("docker.io/library/data:latest"), none, failed},
		"the container's image": {"ErrImagePull", pulled("r2.example/web:1"), failed, none},
		"neither image":         {"ErrImagePull", refused, none, none},
		"text from a registry":  {"ErrImagePull", pulled("r2.example/web:1") + `: no "data"`, failed, none},
		"text from a registry, CRI-O": {"ErrImagePull", `initializing source docker://r2.example/web:1: "data": ` +
			refused, none, none},
		"an image with this prefix": {"ErrImagePull", pulled("docker.io/library/data-tools:latest"), none, none},
		"the volume in back-off": {"ImagePullBackOff", `Back-off pulling image "data": ErrImagePull: ` + refused, none,
			failed},
		"the container in back-off": {"ImagePullBackOff", `Back-off pulling image "r2.example/web:1": ErrImagePull: ` +
			refused, failed, none},
		"no failed pull": {"CreateContainerConfigError", `secret "data" not found`, none, none},
	} {
		t.Run(name, func(t *testing.T) {
			waiting := corev1.ContainerStateWaiting{Reason: test.reason, Message: test.message}
			got := convertPod(&corev1.Pod{
				Spec: corev1.PodSpec{
					Volumes: []corev1.Volume{{Name: "v",
						VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "data"}}}},
					Containers: []corev1.Container{{Name: "web", Image: "r2.example/web:1"}},
				},
				Status: corev1.PodStatus{
					InitContainerStatuses: []corev1.ContainerStatus{{Name: "web"}, {Name: "image:data"}},
					ContainerStatuses: []corev1.ContainerStatus{{Name: "web",
						State: corev1.ContainerState{Waiting: &waiting}}},
				},
			}).Containers
			volume, web := got[0], got[1]
			if web.PullFailure != test.own || web.State != timeline.StateWaiting || web.WaitingReason != test.reason {
				t.Errorf("container: %+v, want %q", web, test.own)
			}
			if volume.PullFailure != test.volume || (volume.State == timeline.StateWaiting) != (test.volume != none) {
				t.Errorf("volume: %+v, want %q", volume, test.volume)
			}
		})
	}
}
