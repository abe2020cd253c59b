package footprint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hostDirectory is a directory of the machine outside the lab's own directories.
type hostDirectory struct {
	path  string
	whole bool // true: remove the directory and its content; false: remove only an empty directory
}

// builtIn returns the directories that the kubelet, libcni and containerd always create, even if their configuration
// specifies other directories. The list contains each child directory before its parent directory.
func builtIn() []hostDirectory {
	return []hostDirectory{
		{"/var/lib/kubelet/device-plugins", true}, // kubelet: socket for device plugins
		{"/var/lib/kubelet", false},
		{"/var/log/containers", true},   // kubelet: links to the logs of containers
		{"/var/lib/cni/results", false}, // libcni: results of plugins
		{"/var/lib/cni", false},
		{"/run/containerd/s", true}, // containerd before 2.3: sockets of the shims
		{"/run/containerd", false},
	}
}

// settings returns the kernel settings that the kubelet changes when it starts.
func settings() []string {
	return []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
		"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"}
}

// Before is the state of the machine before the lab started.
type Before struct {
	Absent   []string          `json:"absent"`    // paths of the directories in builtIn that did not exist
	NoGroup  bool              `json:"no_cgroup"` // true if containerParent did not exist
	Settings map[string]string `json:"settings"`  // values of the kernel settings, by their names
	// Controllers lists the cgroup v2 controllers that the root cgroup enabled for its child cgroups. If Observe could
	// not read the controllers, the list is nil. If no controller was enabled, the list is empty.
	Controllers []string `json:"controllers"`
}

// Observe returns the current state of the machine.
func Observe() Before {
	before := Before{Settings: make(map[string]string), NoGroup: !groupsExist(), Controllers: delegated()}
	for _, dir := range builtIn() {
		if _, err := os.Lstat(dir.path); errors.Is(err, fs.ErrNotExist) {
			before.Absent = append(before.Absent, dir.path)
		}
	}
	for _, name := range settings() {
		if value, err := os.ReadFile("/proc/sys/" + name); err == nil {
			before.Settings[name] = strings.TrimSpace(string(value))
		}
	}
	return before
}

// Save writes the state to a file. If the file already exists, Save replaces it atomically.
func (b Before) Save(path string) error {
	data, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("encode the earlier state of the machine: %w", err)
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return fmt.Errorf("save the earlier state of the machine to a file: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("save the earlier state of the machine to a file: %w", err)
	}
	return nil
}

// Load reads the state that Save wrote. If the file does not exist, Load returns an empty state. With an empty state,
// Restore removes the lab's files from the machine's directories, but removes no directories and resets no kernel
// settings.
func Load(path string) (Before, error) {
	var before Before
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Before{}, nil
	}
	if err != nil {
		return Before{}, fmt.Errorf("read the earlier state of the machine: %w", err)
	}
	if err := json.Unmarshal(data, &before); err != nil {
		return Before{}, fmt.Errorf("parse the earlier state of the machine: %w", err)
	}
	return before, nil
}

// RestoreCgroups restores the cgroups to their state before the lab started. If the cgroup containerParent did not
// exist before the lab started, RestoreCgroups removes this cgroup. RestoreCgroups disables the controllers that were
// disabled before the lab started. The caller must first remove the containers.
func (b Before) RestoreCgroups() {
	if b.NoGroup {
		removeParent()
	}
	if b.Controllers != nil {
		undelegate(slices.DeleteFunc(delegated(),
			func(controller string) bool { return slices.Contains(b.Controllers, controller) }))
	}
}

// Restore returns the machine to its state before the lab started. Restore removes the directories that did not exist
// before the lab started, and resets the kernel settings. In directories that already existed, Restore removes only the
// lab's files. The arguments are the lab's state directory and the name of the lab's network.
func (b Before) Restore(state, network string) error {
	var failures []error
	removeLinks("/var/log/containers", state)
	results, _ := filepath.Glob("/var/lib/cni/results/" + network + "-*")
	for _, result := range results {
		failures = append(failures, os.Remove(result))
	}
	for _, dir := range builtIn() {
		switch {
		case !slices.Contains(b.Absent, dir.path):
		case dir.whole:
			failures = append(failures, os.RemoveAll(dir.path))
		default:
			_ = os.Remove(dir.path) // Remove fails if another program has created files in the directory
		}
	}
	for name, value := range b.Settings {
		path := "/proc/sys/" + name
		if now, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(now)) == value {
			continue
		}
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			failures = append(failures, fmt.Errorf("restore kernel setting %s: %w", name, err))
		}
	}
	return errors.Join(failures...)
}

// removeLinks removes the symbolic links that are in the directory "dir" and point into the directory "target".
func removeLinks(dir, target string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if to, err := os.Readlink(path); err == nil && below(to, []string{target}) {
			_ = os.Remove(path)
		}
	}
}
