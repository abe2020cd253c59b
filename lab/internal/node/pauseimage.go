package node

import (
	"context"
	"fmt"
	"strings"

	"github.com/podlapse/podlapse/lab/internal/image"
	"github.com/podlapse/podlapse/lab/internal/layout"
)

// pauseRepository is the repository of the pause image on stacks with ColdPause. On a stack with ColdPause, the node
// pulls the pause image when the first pod starts.
const pauseRepository = "podlapse-lab/pause"

// pauseLayer is the size of the layer that pushPauseImage adds to the base image. The layer is so large that the pull
// takes a noticeable amount of time.
const pauseLayer = 8 << 20 // bytes

// pauseImage returns the reference of the image for sandboxes. The argument is the reference of the base image, which
// the node has from the start.
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

// ForgetPauseImage removes the pause image from the node, so that the runtime must pull the pause image for the next
// pod. On a stack whose node has the pause image from the start, ForgetPauseImage does nothing. containerd keeps the
// unpacked layers of running sandboxes.
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
// pull, the image's name contains only the repository and the host, without the port.
func (n Node) IsColdPause(image string) bool {
	host, rest, _ := strings.Cut(image, "/")
	return n.Stack.ColdPause && strings.HasPrefix(host, layout.Loopback) &&
		(rest == pauseRepository || strings.HasPrefix(rest, pauseRepository+":"))
}
