package node

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/podlapse/podlapse/lab/internal/image"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
)

// RegistryCommand is an internal command of the lab's program. The command runs the lab's registry.
const RegistryCommand = "serve-registry"

func (n Node) registryComponent() component {
	self, guard := n.In("bin", "lab"), n.RegistryGuard()
	spec := process.Spec{Name: registryName, Path: self, Args: []string{RegistryCommand, n.In("registry")},
		Inputs: []string{self}}
	if guard.IsSet() {
		spec.Args, spec.Inputs = append(spec.Args, "--guard", guard.Dir), append(spec.Inputs, guard.Certificate())
	}
	return component{
		Spec:  spec,
		ports: []int{layout.RegistryPort, layout.NodeMirrorPort, layout.ControlPort},
		ready: n.Registry().Healthy,
		limit: startLimit,
	}
}

// installSelf copies the lab's program to a fixed path. The registry's process runs this copy, because the original
// program can disappear: "go run" removes its program when it exits.
func (n Node) installSelf() error {
	source, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("open the lab's program: %w", err)
	}
	defer source.Close()
	if err := os.MkdirAll(n.In("bin"), 0o700); err != nil {
		return fmt.Errorf("create program directory: %w", err)
	}
	path := n.In("bin", "lab")
	target, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o700)
	if err != nil {
		return fmt.Errorf("copy the lab's program: %w", err)
	}
	_, err = io.Copy(target, source)
	if closeErr := target.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("copy the lab's program: %w", err)
	}
	return nil
}

// BaseImage returns the reference of the image that contains only the workload program. The tag changes with the
// content of the image.
func (n Node) BaseImage() (string, error) {
	base, err := image.Base(n.Programs.Workload())
	if err != nil {
		return "", err
	}
	digest, err := base.Digest()
	if err != nil {
		return "", fmt.Errorf("compute the digest of the base image: %w", err)
	}
	return layout.Address(layout.RegistryPort) + "/podlapse-lab/workload:" + digest.Hex[:12], nil
}

// warmBaseImage pushes the base image to the registry. The node then pulls the image.
func (n Node) warmBaseImage(ctx context.Context, reference string) error {
	base, err := image.Base(n.Programs.Workload())
	if err != nil {
		return err
	}
	if err := image.Push(ctx, n.RegistryGuard(), reference, base); err != nil {
		return err
	}
	return n.Pull(ctx, reference)
}

// Pull requests an image directly from the container runtime, without the kubelet. If the image is already on the node,
// Pull does nothing.
func (n Node) Pull(ctx context.Context, reference string) error {
	login, err := n.RegistryGuard().Login()
	if err != nil {
		return err
	}
	runtime, err := n.Runtime()
	if err != nil {
		return err
	}
	defer runtime.Close()
	return runtime.Pull(ctx, reference, login)
}
