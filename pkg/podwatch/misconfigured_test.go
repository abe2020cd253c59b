package podwatch

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestMisconfigured uses the kubelet's messages for the reasons CreateContainerConfigError and ErrImageNeverPull.
func TestMisconfigured(t *testing.T) {
	for message, want := range map[string]bool{
		`secret "env-secret" not found`:                                                      true,
		`configmap "env" not found`:                                                          true,
		`secrets "env-secret" not found`:                                                     true,
		`couldn't find key a in Secret n/s`:                                                  true,
		`couldn't find key a in ConfigMap n/c`:                                               true,
		"container has runAsNonRoot and image will run as root":                              true,
		"container's runAsUser breaks non-root policy":                                       true,
		`environment variable key "a" not found in file "b"`:                                 true,
		`failed to create subPath directory for volumeMount "data" of container "app"`:       false,
		`failed to prepare subPath for volumeMount "data" of container "app"`:                false,
		"failed to sync configmap cache: timed out waiting for the condition":                false,
		"create container log directory for container app failed: no space left on device":   false,
		`Get "https://10.0.0.1/api/v1/namespaces/n/secrets/x": dial tcp: connection refused`: false,
		"": false,
	} {
		c := timeline.Container{}
		applyStatus(&c, &corev1.ContainerStatus{State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: message},
		}})
		if c.Misconfigured != want {
			t.Errorf("%q: misconfigured %t, want %t", message, c.Misconfigured, want)
		}
	}
	c := timeline.Container{}
	applyStatus(&c, &corev1.ContainerStatus{State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImageNeverPull"},
	}})
	if !c.Misconfigured {
		t.Error("ErrImageNeverPull is not an error of the configuration")
	}
}
