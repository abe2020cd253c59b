package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/podlapse/podlapse/lab/internal/cni"
	"github.com/podlapse/podlapse/lab/internal/footprint"
	"github.com/podlapse/podlapse/lab/internal/process"
)

func (n Node) beforeFile() string { return n.In("before.json") }

// Down stops the node and removes everything that the node created, except the build cache. Down returns false if there
// was nothing to remove.
func (n Node) Down(ctx context.Context) (bool, error) {
	release, err := n.Hold(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	defer os.Remove(n.Lock())
	if !n.traces() {
		return false, nil
	}
	return true, n.clean(ctx)
}

// traces reports whether files or processes of this lab exist on the machine.
func (n Node) traces() bool {
	for _, dir := range []string{n.State, n.Run} {
		if _, err := os.Lstat(dir); err == nil {
			return true
		}
	}
	return len(process.FindMarked(n.Run)) > 0
}

// clean stops all processes, gracefully if possible, and then removes all remaining files, mounts and cgroups.
func (n Node) clean(ctx context.Context) error {
	// If clean is interrupted from now on, the next command treats the lab as interrupted.
	if err := os.Remove(n.readyFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove lab state: %w", err)
	}
	// The kubelet stops first. Otherwise, the kubelet would restart the processes that are stopped later.
	gently := n.stop(5*time.Second, agentProcess, kubeletName, schedulerName, controllerName)
	containers := footprint.Containers(n.ContainerdState(), n.RuncRoot())
	n.removePods(ctx)
	// The data of these components is deleted, so they need not stop gracefully.
	quickly := errors.Join(n.stop(2*time.Second, containerdName, registryName, receiverName, prometheusName,
		nativeName), n.stop(0, apiServerName, etcdName))
	n.Report.Say("all processes stopped, removing mounts, cgroups and files")
	// Containers are removed before shims. A running shim reaps the processes immediately. Without the shim, init would
	// reap these processes later.
	if err := errors.Join(gently, quickly, footprint.RemoveContainers(containers), n.endMarkedProcesses()); err != nil {
		return err
	}
	if err := footprint.Unmount(n.State, n.Run); err != nil {
		return err
	}
	before, err := footprint.Load(n.beforeFile())
	if err != nil {
		return err
	}
	if err := before.Restore(n.State, cni.NetworkName); err != nil {
		return fmt.Errorf("restore the machine: %w", err)
	}
	for _, dir := range []string{n.Run, n.State} {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove lab state: %w", err)
		}
	}
	return nil
}

// stop ends components concurrently.
func (n Node) stop(grace time.Duration, names ...string) error {
	failures := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		record, ok := n.table().Get(name)
		if !ok {
			continue
		}
		all.Go(func() {
			if record.Boot == process.BootID() {
				if failures[i] = record.Stop(grace); failures[i] != nil {
					failures[i] = fmt.Errorf("%s: %w", name, failures[i])
					return
				}
			}
			failures[i] = n.table().Remove(name)
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// removePods makes containerd remove the pods, including state that only containerd knows. If containerd fails, the
// caller removes the remains by force.
func (n Node) removePods(ctx context.Context) {
	record, ok := n.table().Get(containerdName)
	if !ok || !record.Alive() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	runtime, err := n.Runtime()
	if err != nil {
		return
	}
	defer runtime.Close()
	if err := runtime.RemovePods(ctx); err != nil {
		n.Report.Say("containerd failed to remove all pods, removing the pods by force: %v", err)
	}
}

// endMarkedProcesses kills processes with the lab's mark until no such process remains. Marked processes can be shims,
// or processes that an interrupted lab did not record.
func (n Node) endMarkedProcesses() error {
	const looks = 50
	for range looks {
		found := process.FindMarked(n.Run)
		if len(found) == 0 {
			return nil
		}
		for _, p := range found {
			if err := p.Stop(0); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("stop processes: new processes keep appearing: %+v", process.FindMarked(n.Run))
}
