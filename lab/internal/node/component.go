package node

import (
	"context"
	"fmt"
	"time"

	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
	"github.com/podlapse/podlapse/lab/internal/progress"
)

// component is one background process of the node.
type component struct {
	process.Spec
	ports []int                       // loopback ports it listens on
	ready func(context.Context) error // nil when it serves
	limit time.Duration               // how long it may take to become ready
}

// Names of components, in the order in which they start.
const (
	registryName   = "registry"
	etcdName       = "etcd"
	containerdName = "containerd"
	apiServerName  = "kube-apiserver"
	controllerName = "kube-controller-manager"
	schedulerName  = "kube-scheduler"
	kubeletName    = "kubelet"
	agentProcess   = "podlapse-agent"

	// Those that only some scenarios start.
	receiverName   = "otlp-receiver"
	prometheusName = "prometheus"
	nativeName     = "prometheus-native"
)

// ensure makes sure that the component runs as its spec says: it leaves a process alone that was
// started with the same spec, and replaces one that was not.
func (n Node) ensure(c component) error {
	fingerprint, err := c.Fingerprint()
	if err != nil {
		return err
	}
	record, known := n.table().Get(c.Name)
	if known && record.Alive() {
		if record.Fingerprint == fingerprint {
			return nil
		}
		n.Report.Say("%s has changed, restarting it", c.Name)
		if err := record.Stop(5 * time.Second); err != nil {
			return err
		}
	} else if known {
		n.Report.Say("%s (pid %d) is not running any more, starting it again; its last words:\n%s",
			c.Name, record.PID, indent(process.Tail(record.Log, 5)))
	}
	n.killStrays(c)
	for _, port := range c.ports {
		if err := free(port); err != nil {
			return fmt.Errorf("start %s: its port is taken, end what listens there: %w", c.Name, err)
		}
	}
	if record, err = n.starter().Start(c.Spec); err != nil {
		return err
	}
	n.Report.Say("%s started, pid %d", c.Name, record.PID)
	return nil
}

// killStrays ends processes of this component that an interrupted lab started but could not record.
// What the component itself has started, as containerd its shims, has another program and stays.
func (n Node) killStrays(c component) {
	for _, found := range process.FindMarked(n.Run) {
		if found.Component == c.Name && found.Executable == c.Path {
			_ = found.Stop(0)
		}
	}
}

// await waits until the component is ready. If its process ends meanwhile, the error says so at once
// and carries the end of its log.
func (n Node) await(ctx context.Context, c component) error {
	startedAt := time.Now()
	err := n.Report.Wait(ctx, c.Name, c.limit, 50*time.Millisecond, func(ctx context.Context) error {
		err := c.ready(ctx)
		if err == nil {
			return nil
		}
		if record, ok := n.table().Get(c.Name); !ok || !record.Alive() {
			return progress.Hopeless(fmt.Errorf("%s died while starting; its last words:\n%s",
				c.Name, indent(process.Tail(record.Log, 20))))
		}
		return err
	})
	if err != nil {
		return err
	}
	if waited := time.Since(startedAt); waited > 100*time.Millisecond {
		n.Report.Say("%s ready", c.Name)
	}
	return nil
}

// listensOn says where a component can be reached, for status.
func (c component) listensOn() string {
	var text string
	for _, port := range c.ports {
		if text != "" {
			text += " "
		}
		text += layout.Address(port)
	}
	return text
}
