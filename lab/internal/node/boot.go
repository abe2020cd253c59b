package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/layout"
)

const nodeObject = "/api/v1/nodes/" + layout.NodeName

// SwitchOff stops the kubelet and containerd. SwitchOff also removes the CNI configuration and the Node object.
// LaunchContainerd starts containerd again, and RestoreNetwork restores the CNI configuration. StartKubelet starts the
// kubelet again, and the kubelet creates a new Node object. Alternatively, Restore or the next Up starts all parts of
// the node.
func (n Node) SwitchOff(ctx context.Context) error {
	client, err := n.Kube()
	if err != nil {
		return err
	}
	defer client.Close()
	err = errors.Join(n.stopComponents(5*time.Second, kubeletName), n.StopContainerd(), n.RemoveNetwork())
	if err != nil {
		return err
	}
	return client.Delete(ctx, nodeObject)
}

// LaunchContainerd starts containerd, but does not wait until containerd is ready. Without the CNI configuration,
// containerd never becomes ready.
func (n Node) LaunchContainerd() error { return n.ensureRunning(n.containerd()) }

// StartKubelet starts the kubelet and waits until the kubelet serves requests. When the kubelet creates the Node
// object, it adds the given taints. StartKubelet does not wait until the node is ready.
func (n Node) StartKubelet(ctx context.Context, taints ...corev1.Taint) error {
	if err := n.writeKubeletConfig(map[string]any{"registerWithTaints": taints}); err != nil {
		return err
	}
	if err := n.ensureRunning(n.kubelet()); err != nil {
		return err
	}
	return n.awaitReady(ctx, n.kubelet())
}

// BootFiles creates a directory and returns its path. An agent can use this directory instead of /proc. The files in
// the directory contain the given boot time, because the kernel's boot time cannot change while the machine runs. The
// boot ID in the directory is the machine's real boot ID, because the kubelet also reads the real boot ID.
func (n Node) BootFiles(booted time.Time) (string, error) {
	const bootID = "sys/kernel/random/boot_id"
	id, err := os.ReadFile("/proc/" + bootID)
	if err != nil {
		return "", fmt.Errorf("read the boot ID: %w", err)
	}
	dir := n.In("proc")
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, bootID)), 0o755); err != nil {
		return "", fmt.Errorf("create the simulated proc file system: %w", err)
	}
	err = errors.Join(os.WriteFile(filepath.Join(dir, bootID), id, 0o644),
		os.WriteFile(filepath.Join(dir, "stat"), fmt.Appendf(nil, "btime %d\n", booted.Unix()), 0o644))
	if err != nil {
		return "", fmt.Errorf("write the files of the simulated proc file system: %w", err)
	}
	return dir, nil
}
