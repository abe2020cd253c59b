package node

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/podlapse/podlapse/lab/internal/runc"
)

// On a stack with cgroup v2, containerd, the kubelet and the agent's process each run in a separate mount namespace. In
// these mount namespaces, /sys/fs/cgroup contains cgroup v2 instead of the machine's cgroups. The machine's own mounts
// stay unchanged.

// cgroups returns the directory on which mountCgroups mounts cgroup v2. The mount can be the only mount of cgroup v2 on
// the machine, so Down uses it to remove cgroups.
func (n Node) cgroups() string { return filepath.Join(n.Run, "cgroup") }

// mountCgroups prepares the mounts for mountNamespaceEntry. On a stack that uses the machine's cgroups, mountCgroups
// does nothing. stopAndRemove removes the mounts of mountCgroups.
func (n Node) mountCgroups() error {
	if !n.Stack.CgroupV2 {
		return nil
	}
	// Mounts in the state directory and in the run directory are shared. These mounts appear in the mount namespaces of
	// the machine, containerd, the kubelet and the agent's process. Therefore, containerd sees the volumes that the
	// kubelet mounts. A restarted containerd also sees the mounts of running containers.
	for _, dir := range []string{n.State, n.Run} {
		if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s on itself: %w", dir, err)
		}
		if err := syscall.Mount("", dir, "", syscall.MS_SHARED, ""); err != nil {
			return fmt.Errorf("make the mount %s shared: %w", dir, err)
		}
	}
	if err := os.Mkdir(n.cgroups(), 0o700); err != nil {
		return fmt.Errorf("create the directory for cgroup v2: %w", err)
	}
	if err := syscall.Mount("cgroup2", n.cgroups(), "cgroup2", 0, ""); err != nil {
		return fmt.Errorf("mount cgroup v2: %w", err)
	}
	return nil
}

// mountNamespaceEntry returns a function that moves the calling thread to a new mount namespace with cgroup v2. On a
// stack that uses the machine's cgroups, mountNamespaceEntry returns nil. The lab does not use the field Unshareflags
// of syscall.SysProcAttr, because Go makes all mounts private if this field requests a new mount namespace.
func (n Node) mountNamespaceEntry() func() error {
	if !n.Stack.CgroupV2 {
		return nil
	}
	return func() error {
		const point = "/sys/fs/cgroup"
		if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
			return fmt.Errorf("create a mount namespace: %w", err)
		}
		// The mount on /sys/fs/cgroup must be private. With a shared mount, cgroup v2 could also appear in the
		// machine's mount namespace.
		if err := syscall.Mount("", point, "", syscall.MS_PRIVATE, ""); err != nil {
			return fmt.Errorf("make the mount %s private: %w", point, err)
		}
		if err := syscall.Mount(n.cgroups(), point, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount cgroup v2 on %s: %w", point, err)
		}
		return nil
	}
}

// runcPath returns the path of the program that containerd runs as runc. On a stack with cgroup v2, this program is
// runc-without-limits. If the machine also uses cgroup v1, the controllers for memory and CPU belong to cgroup v1, and
// cgroup v2 lacks these controllers.
func (n Node) runcPath() string {
	if n.Stack.CgroupV2 {
		return filepath.Join(n.Programs.Payload, runc.ProgramName)
	}
	return n.Programs.RuntimeTool("runc")
}
