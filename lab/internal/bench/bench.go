// Package bench provides the resources that scenarios and the sample workload need on the running node: a namespace,
// images, faults, and access to the agent. The method Clear of Bench ends the faults.
package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/podlapse/podlapse/lab/internal/cni"
	"github.com/podlapse/podlapse/lab/internal/image"
	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

// Bench contains the resources of one scenario, or of the sample workload, on the node.
type Bench struct {
	Node      node.Node
	Kube      *kube.Client
	Registry  registry.Client
	Namespace string
	BaseImage string // reference of the image without additional layers
	Seed      uint64 // seed for all random choices of a scenario
	Before    string // path of an agent program that a scenario compares with the current agent
	Observer         // reads the reports of the node's own agent

	base   v1.Image
	faults faults
}

// FreshName adds random characters to a prefix, so that each run uses a different name.
func FreshName(prefix string) string {
	var random [3]byte
	_, _ = rand.Read(random[:]) // crypto/rand does not fail on Linux
	return prefix + "-" + hex.EncodeToString(random[:])
}

// Open returns a bench for a namespace. Open changes nothing. The node must be up.
func Open(n node.Node, namespace string) (*Bench, error) {
	client, err := n.Kube()
	if err != nil {
		return nil, err
	}
	return &Bench{Node: n, Kube: client, Registry: n.Registry(), Namespace: namespace,
		Observer: resident(n, namespace)}, nil
}

// Set creates a bench and a namespace for the bench's pods. Set also calls ResetFaults. If Set fails, the returned
// bench is incomplete or nil. If the returned bench is not nil, the caller should call Clear. If the caller does not
// call Clear, the next call of ClearAll with the same purpose clears the bench.
func Set(ctx context.Context, n node.Node, namespace, purpose string) (*Bench, error) {
	b, err := Open(n, namespace)
	if err != nil {
		return nil, err
	}
	if b.BaseImage, err = n.BaseImage(); err != nil {
		return b, err
	}
	if b.base, err = image.Base(n.Programs.Workload()); err != nil {
		return b, err
	}
	if err := errors.Join(b.ResetFaults(ctx), n.ForgetAgentLogs()); err != nil {
		return b, err
	}
	err = b.Kube.CreateNamespace(ctx, n.Report, namespace, purpose)
	if kube.IsConflict(err) {
		// The namespace already existed. Set returns nil, because the caller must not clear this namespace.
		b.Kube.Close()
		return nil, fmt.Errorf("%w: delete the namespace (kubectl delete namespace %s), and run the command again",
			err, namespace)
	}
	return b, err
}

// ClearAll clears all benches with the given purpose. Each run first calls ClearAll, because an earlier run might not
// have cleared its bench.
func ClearAll(ctx context.Context, n node.Node, purpose string) error {
	client, err := n.Kube()
	if err != nil {
		return err
	}
	defer client.Close()
	left, err := client.NamespacesFor(ctx, purpose)
	if err != nil {
		return err
	}
	var failures []error
	for _, namespace := range left {
		b, err := Open(n, namespace)
		if err == nil {
			err = b.Clear(ctx)
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// ResetFaults ends the injected faults of the network plugin, of the credential provider plugin and of the registry.
func (b *Bench) ResetFaults(ctx context.Context) error {
	if err := os.Remove(b.Node.CNIFaults()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the injected network faults: %w", err)
	}
	if guard := b.Node.RegistryGuard(); guard.IsSet() {
		if err := guard.Plugin().SetFaults(); err != nil {
			return err
		}
	}
	return b.faults.set(ctx, b.Registry, nil)
}

// Clear ends the faults and deletes the pods. Clear requests the deletion of the namespace. Clear does not wait until
// the control plane has deleted the remaining objects of the namespace. Clear removes the bench's images from the node
// and from the registry. Clear also reverts the bench's changes to the API server, containerd, the kubelet and the
// agent.
func (b *Bench) Clear(ctx context.Context) error {
	failures := []error{
		b.Node.Thaw(), b.ResetFaults(ctx), b.Node.Restore(ctx),
		b.Node.RepairFragile(), b.Kube.RequestNamespaceDeletion(ctx, b.Node.Report, b.Namespace), b.Node.BreakFragile(),
	}
	if runtime, err := b.Node.Runtime(); err != nil {
		failures = append(failures, err)
	} else {
		failures = append(failures, runtime.RemoveImages(ctx, b.imagePrefix()),
			runtime.RemoveImages(ctx, b.Elsewhere(b.imagePrefix())), b.forgetHosts(ctx, runtime))
		runtime.Close()
	}
	failures = append(failures, b.Registry.Forget(ctx, b.Namespace+"/*"))
	b.Kube.Close()
	return errors.Join(failures...)
}

func (b *Bench) imagePrefix() string {
	return layout.Address(layout.RegistryPort) + "/" + b.Namespace + "/"
}

// BreakNetwork makes the network plugin fail with the given error for the bench's pods.
func (b *Bench) BreakNetwork(reason string) error {
	return cni.WriteFaults(b.Node.CNIFaults(), cni.Faults{Namespace: b.Namespace, Fail: reason})
}

// DelayNetwork makes the network plugin wait before it sets up the network of the named pods. If the caller names no
// pods, the delay applies to all pods of the bench.
func (b *Bench) DelayNetwork(delay time.Duration, pods ...string) error {
	return cni.WriteFaults(b.Node.CNIFaults(),
		cni.Faults{Namespace: b.Namespace, Pods: pods, Delay: cni.Duration{Duration: delay}})
}
