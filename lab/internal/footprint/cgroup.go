package footprint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/podlapse/podlapse/lab/internal/process"
)

// If the kubelet specifies no parent cgroup for a container, containerParent is the parent cgroup of the container.
// Another containerd on the machine can use the same parent cgroup. The lab therefore changes only containers whose IDs
// it knows.
const containerParent = "k8s.io"

const (
	kindV1 = "cgroup"
	kindV2 = "cgroup2"
)

// hierarchies returns the mount points of all cgroup file systems of the given kinds. cgroup v2 usually has one mount
// point. cgroup v1 has one mount point for each controller.
func hierarchies(kinds ...string) ([]string, error) {
	all, err := mounts()
	if err != nil {
		return nil, err
	}
	var points []string
	for _, m := range all {
		if slices.Contains(kinds, m.kind) {
			points = append(points, m.point)
		}
	}
	return points, nil
}

// groupsExist reports whether containerParent exists in any hierarchy.
func groupsExist() bool {
	points, _ := hierarchies(kindV1, kindV2)
	for _, point := range points {
		if _, err := os.Stat(filepath.Join(point, containerParent)); err == nil {
			return true
		}
	}
	return false
}

// Containers returns the IDs of all containers, whether the containers run or not. The arguments are containerd's state
// directory and runc's root directory.
func Containers(containerdState, runcRoot string) []string {
	seen := make(map[string]bool)
	var ids []string
	for _, dir := range []string{filepath.Join(containerdState, "io.containerd.runtime.v2.task", "k8s.io"),
		filepath.Join(runcRoot, "k8s.io")} {
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			if id := entry.Name(); isID(id) && !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func isID(name string) bool { return regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(name) }

// RemoveContainers kills all processes of the given containers and removes the cgroups of these containers.
func RemoveContainers(ids []string) error {
	points, err := hierarchies(kindV1, kindV2)
	if err != nil {
		return err
	}
	const patience = 10 * time.Second
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var failures []error
		for _, point := range points {
			for _, id := range ids {
				if isID(id) {
					failures = append(failures, removeGroup(filepath.Join(point, containerParent, id)))
				}
			}
		}
		// A killed process stays in its cgroup for a short time, so the first attempts can fail.
		if err := errors.Join(failures...); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// removeParent removes the cgroup containerParent if it is empty.
func removeParent() {
	points, _ := hierarchies(kindV1, kindV2)
	for _, point := range points {
		_ = syscall.Rmdir(filepath.Join(point, containerParent))
	}
}

// delegated returns the cgroup v2 controllers that the root cgroup enables for its child cgroups. If no cgroup v2 is
// mounted, delegated returns nil. The list can grow while the lab runs, because runc enables all controllers of cgroup
// v2.
func delegated() []string {
	points, _ := hierarchies(kindV2)
	for _, point := range points {
		if enabled, err := os.ReadFile(filepath.Join(point, subtreeControl)); err == nil {
			return strings.Fields(string(enabled))
		}
	}
	return nil
}

const subtreeControl = "cgroup.subtree_control"

// undelegate disables cgroup v2 controllers for the child cgroups of the root cgroup. If a child cgroup enables a
// controller for its own children, the kernel refuses to disable the controller. Such a refusal means that another
// program uses the controller, so undelegate ignores the kernel's error.
func undelegate(controllers []string) {
	points, _ := hierarchies(kindV2)
	for _, point := range points {
		for _, controller := range controllers {
			_ = os.WriteFile(filepath.Join(point, subtreeControl), []byte("-"+controller), 0)
		}
	}
}

// removeGroup removes a cgroup and its child cgroups in one hierarchy. removeGroup removes the deepest cgroup first,
// because the kernel refuses to remove a cgroup with child cgroups or processes.
func removeGroup(root string) error {
	var dirs []string
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return nil // ignore directories that do not exist, or that another process removes during the walk
	})
	var failures []error
	for i := len(dirs) - 1; i >= 0; i-- {
		killGroup(dirs[i])
		if err := syscall.Rmdir(dirs[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failures = append(failures, fmt.Errorf("remove cgroup %s: %w", dirs[i], err))
		}
	}
	return errors.Join(failures...)
}

func killGroup(dir string) {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return
	}
	for _, field := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(field)
		if err != nil || pid <= 1 || pid == os.Getpid() {
			continue
		}
		if id, err := process.Identify(pid); err == nil {
			_ = id.Signal(syscall.SIGKILL)
		}
	}
}
