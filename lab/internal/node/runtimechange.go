package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// FragileHandler is the name of a runtime handler. The program of this handler is missing until RepairFragile creates
// the program.
const FragileHandler = "fragile"

func (n Node) fragileProgram() string { return n.In("fragile-runc") }

// RepairFragile creates the program of the runtime handler "fragile". BreakFragile removes the program that
// RepairFragile creates.
func (n Node) RepairFragile() error {
	err := os.Symlink(n.runcPath(), n.fragileProgram())
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the program of the runtime handler \"fragile\": %w", err)
	}
	return nil
}

// BreakFragile removes the program that RepairFragile created. A pod cannot terminate while the program of its runtime
// handler is missing.
func (n Node) BreakFragile() error {
	if err := os.Remove(n.fragileProgram()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the program of the runtime handler \"fragile\": %w", err)
	}
	return nil
}

// UsePauseImage restarts containerd with another image for pod sandboxes. UseOwnPauseImage, Restore or the next Up
// reverts the change.
func (n Node) UsePauseImage(ctx context.Context, reference string) error {
	if err := n.writeContainerdConfig(reference); err != nil {
		return err
	}
	if err := n.ensureRunning(n.containerd()); err != nil {
		return err
	}
	return n.awaitReady(ctx, n.containerd())
}

// UseOwnPauseImage reverts UsePauseImage. UseOwnPauseImage also writes the CNI configuration again.
func (n Node) UseOwnPauseImage(ctx context.Context) error {
	base, err := n.BaseImage()
	if err != nil {
		return err
	}
	return n.UsePauseImage(ctx, n.pauseImage(base))
}

// StopContainerd stops containerd. As during an upgrade of containerd, the pods continue to run. StartContainerd or the
// next Up starts containerd again.
func (n Node) StopContainerd() error { return n.stopComponents(5*time.Second, containerdName) }

// StartContainerd starts containerd again and waits until containerd serves requests.
func (n Node) StartContainerd(ctx context.Context) error {
	if err := n.ensureRunning(n.containerd()); err != nil {
		return err
	}
	return n.awaitReady(ctx, n.containerd())
}

// RemoveNetwork removes the CNI configuration. The container runtime then reports that its network is not ready.
// RestoreNetwork, Restore or the next Up writes the configuration again.
func (n Node) RemoveNetwork() error {
	if err := os.Remove(n.networkConfig()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the network's configuration: %w", err)
	}
	return nil
}

// RestoreNetwork writes the CNI configuration.
func (n Node) RestoreNetwork() error { return n.writeNetworkConfig() }

// AwaitReady waits until the scheduler can schedule pods and new pods can start without a retry.
func (n Node) AwaitReady(ctx context.Context) error {
	client, err := n.Kube()
	if err != nil {
		return err
	}
	defer client.Close()
	return n.awaitNode(ctx, client)
}
