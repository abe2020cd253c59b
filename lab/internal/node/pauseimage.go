package node

import (
	"context"
	"fmt"
	"strings"

	"github.com/podlapse/podlapse/lab/internal/image"
	"github.com/podlapse/podlapse/lab/internal/layout"
)

// pauseRepository is the pause image's repository in the lab's registry. Only stacks with the setting ColdPause use
// this repository. On these stacks, the node pulls the pause image when the first pod starts.
const pauseRepository = "podlapse-lab/pause"

// pauseLayer is the size of the layer that pushPauseImage adds to the base image. The layer is so large that the pull
// takes a noticeable amount of time.
const pauseLayer = 8 << 20 // bytes

// pauseImage returns the reference of the image that containerd uses for pod sandboxes. The argument "base" is the
// reference of the base image. On a stack without ColdPause, pauseImage returns "base", because the node pulls the base
// image before it runs pods.
func (n Node) pauseImage(base string) string {
	if !n.Stack.ColdPause {
		return base
	}
	return layout.Address(layout.RegistryPort) + "/" + pauseRepository + ":1"
}

// pushPauseImage pushes the pause image to the lab's registry on a stack with ColdPause. The node pulls the image when
// the first pod starts.
func (n Node) pushPauseImage(ctx context.Context) error {
	if !n.Stack.ColdPause {
		return nil
	}
	base, err := image.Base(n.Programs.Workload())
	if err != nil {
		return err
	}
	layer, err := image.RandomLayer(pauseLayer)
	if err != nil {
		return err
	}
	pause, err := image.WithLayers(base, layer)
	if err != nil {
		return err
	}
	return image.Push(ctx, n.RegistryGuard(), n.pauseImage(""), pause)
}

// ForgetPauseImage removes the pause image from the node. The runtime must then pull the pause image for the next pod.
// containerd keeps the unpacked layers that running sandboxes use. On a stack without ColdPause, ForgetPauseImage does
// nothing.
func (n Node) ForgetPauseImage(ctx context.Context) error {
	if !n.Stack.ColdPause {
		return nil
	}
	runtime, err := n.Runtime()
	if err != nil {
		return err
	}
	defer runtime.Close()
	if err := runtime.RemoveImages(ctx, n.pauseImage("")); err != nil {
		return fmt.Errorf("remove the pause image: %w", err)
	}
	return nil
}

// IsColdPause reports whether an image is the pause image of a stack with ColdPause. If containerd itself starts the
// pull, the image's name has no port: it contains only the host and the repository.
func (n Node) IsColdPause(image string) bool {
	host, rest, _ := strings.Cut(image, "/")
	return n.Stack.ColdPause && strings.HasPrefix(host, layout.Loopback) &&
		(rest == pauseRepository || strings.HasPrefix(rest, pauseRepository+":"))
}
