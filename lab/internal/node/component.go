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
	ports []int                       // loopback ports on which the process listens
	ready func(context.Context) error // returns nil when the component serves requests
	limit time.Duration               // maximum duration of the component's start
}

// The names of components, in the order in which they start.
const (
	registryName   = "registry"
	etcdName       = "etcd"
	containerdName = "containerd"
	apiServerName  = "kube-apiserver"
	controllerName = "kube-controller-manager"
	schedulerName  = "kube-scheduler"
	kubeletName    = "kubelet"
	agentProcess   = "podlapse-agent"

	// Only some scenarios start the following components.
	receiverName   = "otlp-receiver"
	prometheusName = "prometheus"
	nativeName     = "prometheus-native"
)

// ensureRunning makes sure that the component runs with the given spec. If the process already runs with this spec,
// ensureRunning keeps the process. If the process runs with another spec, ensureRunning replaces the process.
func (n Node) ensureRunning(c component) error {
	fingerprint, err := c.Fingerprint()
	if err != nil {
		return err
	}
	record, known := n.table().Get(c.Name)
	if known && record.Alive() {
		if record.Fingerprint == fingerprint {
			return nil
		}
		n.Report.Say("restarting %s, because its configuration has changed", c.Name)
		if err := record.Stop(5 * time.Second); err != nil {
			return err
		}
	} else if known {
		n.Report.Say("%s (pid %d) has exited, starting a new process; the last lines of its log:\n%s",
			c.Name, record.PID, indent(process.Tail(record.Log, 5)))
	}
	n.killLeftovers(c)
	for _, port := range c.ports {
		if err := checkPortFree(port); err != nil {
			return fmt.Errorf("start component %q: port %d is in use: stop the process that uses this port: %w", c.Name,
				port, err)
		}
	}
	if record, err = n.starter().Start(c.Spec); err != nil {
		return err
	}
	n.Report.Say("%s started, pid %d", c.Name, record.PID)
	return nil
}

// killLeftovers kills processes that the lab started for the component but did not record. The lab records a process
// only after the start, so an interrupted lab can leave a process without a record. killLeftovers kills only processes
// that run the component's own program. Child processes with another program, such as containerd's shims, continue to
// run.
func (n Node) killLeftovers(c component) {
	for _, found := range process.FindMarked(n.Run) {
		if found.Component == c.Name && found.Executable == c.Path {
			_ = found.Stop(0)
		}
	}
}

// awaitReady waits until the component is ready. If the component's process exits first, awaitReady returns an error
// with the last lines of the log.
func (n Node) awaitReady(ctx context.Context, c component) error {
	startedAt := time.Now()
	err := n.Report.Wait(ctx, c.Name, c.limit, 50*time.Millisecond, func(ctx context.Context) error {
		err := c.ready(ctx)
		if err == nil {
			return nil
		}
		if record, ok := n.table().Get(c.Name); !ok || !record.Alive() {
			return progress.Permanent(fmt.Errorf("component %q exited before it was ready; the last lines of its "+
				"log:\n%s", c.Name, indent(process.Tail(record.Log, 20))))
		}
		return err
	})
	if err != nil {
		return err
	}
	if waited := time.Since(startedAt); waited > 100*time.Millisecond {
		n.Report.Say("%s is ready", c.Name)
	}
	return nil
}

// listensOn returns the addresses of a component for the output of "lab status".
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
