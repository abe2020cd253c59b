package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// AgentPID returns the process ID of a container in a pod of the agent's DaemonSet.
func (n Node) AgentPID(pod corev1.Pod, container string) (int, error) {
	id, err := ContainerID(pod, container)
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(n.ContainerdState(), "io.containerd.runtime.v2.task", "k8s.io", id,
		"init.pid"))
	if err != nil {
		return 0, fmt.Errorf("find the process of container %s: %w", container, err)
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// ContainerID returns the ID that containerd uses for a container of a pod.
func ContainerID(pod corev1.Pod, container string) (string, error) {
	for _, status := range pod.Status.ContainerStatuses {
		if id, ok := strings.CutPrefix(status.ContainerID, "containerd://"); ok && status.Name == container {
			return id, nil
		}
	}
	return "", fmt.Errorf("pod %s has no running container %q", pod.Name, container)
}
