package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// FragileHandler is a handler of the runtime whose program is missing until MendFragile.
const FragileHandler = "fragile"

func (n Node) fragileProgram() string { return n.In("fragile-runc") }

// MendFragile gives the fragile handler its program; BreakFragile takes it away.
func (n Node) MendFragile() error {
	if err := os.Symlink(n.Programs.Tool("runc"), n.fragileProgram()); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("mend the fragile handler: %w", err)
	}
	return nil
}

// BreakFragile takes MendFragile back. A pod that has the handler cannot end without the program.
func (n Node) BreakFragile() error {
	if err := os.Remove(n.fragileProgram()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("break the fragile handler: %w", err)
	}
	return nil
}

// UsePauseImage starts containerd anew with another image for sandboxes. UseOwnPauseImage, Restore, or the next Up
// takes that back.
func (n Node) UsePauseImage(ctx context.Context, reference string) error {
	if err := n.writeContainerdConfig(reference); err != nil {
		return err
	}
	if err := n.ensure(n.containerd()); err != nil {
		return err
	}
	return n.await(ctx, n.containerd())
}

// UseOwnPauseImage takes UsePauseImage back. It also writes the network's configuration anew.
func (n Node) UseOwnPauseImage(ctx context.Context) error {
	base, err := n.BaseImage()
	if err != nil {
		return err
	}
	return n.UsePauseImage(ctx, base)
}

// StopContainerd ends containerd as an upgrade does: pods go on. StartContainerd, or the next Up, brings it back.
func (n Node) StopContainerd() error { return n.stop(5*time.Second, containerdName) }

// StartContainerd starts it again and waits until it serves.
func (n Node) StartContainerd(ctx context.Context) error {
	if err := n.ensure(n.containerd()); err != nil {
		return err
	}
	return n.await(ctx, n.containerd())
}

// TakeNetworkAway removes the network's configuration, so that the runtime has no network for pods. BringNetworkBack,
// Restore, or the next Up writes it anew.
func (n Node) TakeNetworkAway() error {
	if err := os.Remove(n.networkConfig()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take the network away: %w", err)
	}
	return nil
}

// BringNetworkBack writes the network's configuration.
func (n Node) BringNetworkBack() error { return n.writeNetworkConfig() }

// AwaitReady waits until pods would be scheduled and would start at the first try.
func (n Node) AwaitReady(ctx context.Context) error {
	client, err := n.Kube()
	if err != nil {
		return err
	}
	defer client.Close()
	return n.awaitNode(ctx, client)
}
