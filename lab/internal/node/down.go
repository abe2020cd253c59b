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

// Down stops the node and removes everything that the node created, except the build cache. If there was nothing to
// remove, Down returns false.
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
	return true, n.stopAndRemove(ctx)
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

// stopAndRemove stops all processes and then removes all remaining files, mounts and cgroups. The kubelet and most
// other components have some seconds to stop gracefully.
func (n Node) stopAndRemove(ctx context.Context) error {
	// Without this file, the lab counts as interrupted. If stopAndRemove does not finish, the next "lab up" or "lab
	// down" removes the remaining state.
	if err := os.Remove(n.readyFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove lab state: %w", err)
	}
	// The kubelet must stop first. A running kubelet would restart the containers that stopAndRemove stops later.
	gently := n.stopComponents(5*time.Second, agentProcess, kubeletName, schedulerName, controllerName)
	containers := footprint.Containers(n.ContainerdState(), n.RuncRoot())
	n.removePods(ctx)
	// The remaining components do not have to stop gracefully, because stopAndRemove deletes their data.
	quickly := errors.Join(n.stopComponents(2*time.Second, containerdName, registryName, receiverName, prometheusName,
		nativeName), n.stopComponents(0, apiServerName, etcdName))
	n.Report.Say("all processes stopped, removing mounts, cgroups and files")
	// The containers must be removed before the shims. A running shim reaps killed processes immediately. Without the
	// shim, a killed process remains as a zombie until the init process reaps it.
	if err := errors.Join(gently, quickly, footprint.RemoveContainers(containers), n.endMarkedProcesses()); err != nil {
		return err
	}
	before, err := footprint.Load(n.beforeFile())
	if err != nil {
		return err
	}
	// RestoreCgroups must run before Unmount. Unmount removes the lab's mount of cgroup v2, which can be the only mount
	// of cgroup v2 on the machine.
	before.RestoreCgroups()
	if err := footprint.Unmount(n.State, n.Run); err != nil {
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

// stopComponents stops the named components concurrently.
func (n Node) stopComponents(grace time.Duration, names ...string) error {
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

// removePods makes containerd remove the pods, because only containerd knows some parts of their state. If containerd
// fails, the caller removes the remaining state by force.
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

// endMarkedProcesses kills the processes whose environment contains the lab's mark. endMarkedProcesses repeats the
// search until no such process remains. If new processes keep appearing, endMarkedProcesses returns an error. A process
// with the mark is a shim, or a process that an interrupted lab started but did not record.
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
