package node

import (
	"errors"
	"fmt"
	"syscall"
)

// The components that Freeze can stop.
const (
	Kubelet    = kubeletName
	Containerd = containerdName
	APIServer  = apiServerName
	Scheduler  = schedulerName
	Prometheus = prometheusName
)

// Freeze stops a component with SIGSTOP. The component keeps its connections open, but does nothing. Thaw, Restore or
// the next Up lets the component continue.
func (n Node) Freeze(component string) error {
	record, ok := n.table().Get(component)
	if !ok {
		return fmt.Errorf("freeze %s: the process was not started", component)
	}
	return record.Signal(syscall.SIGSTOP)
}

// Thaw lets every frozen component continue.
func (n Node) Thaw() error {
	var failures []error
	for _, component := range []string{Kubelet, Containerd, APIServer, Scheduler, Prometheus} {
		if record, ok := n.table().Get(component); ok && record.Alive() {
			failures = append(failures, record.Signal(syscall.SIGCONT))
		}
	}
	return errors.Join(failures...)
}
