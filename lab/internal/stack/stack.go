// Package stack describes the nodes that the lab can run. A stack is a combination of program versions and settings.
// Each stack has a file in this directory.
package stack

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Current is the name of the stack that the lab runs by default.
const Current = "current"

//go:embed *.json
var files embed.FS

// Stack is the description of a node. If the file of a stack omits the version of Kubernetes or of containerd, the
// stack uses the version of the stack "current".
type Stack struct {
	Name       string     `json:"-"`
	Summary    string     `json:"summary"` // one sentence
	Kubernetes Kubernetes `json:"kubernetes"`
	Containerd Containerd `json:"containerd"`
	// If PrivateRegistry is true, the lab's registry requires credentials and serves TLS. The registry's own
	// certificate authority issues the TLS certificate. The kubelet gets the credentials from a credential provider
	// plugin.
	PrivateRegistry bool `json:"private_registry"`
	// ColdPause is true if the pause image is not on the node before the first pod starts.
	ColdPause bool `json:"cold_pause"`
	// If CgroupV2 is true, the node uses cgroup v2, even if the machine uses cgroup v1. On such a node, containers have
	// no resource limits.
	CgroupV2 bool `json:"cgroup_v2"`
	// Kubelet contains fields of the kubelet's configuration file (KubeletConfiguration,
	// kubelet.config.k8s.io/v1beta1). The fields in Kubelet replace the lab's own settings.
	Kubelet map[string]any `json:"kubelet"`
	// Lacks contains the features of Kubernetes that the stack does not have. Scenarios skip the cases that need a
	// missing feature.
	Lacks []Feature `json:"lacks"`
	// Limits contains one sentence for each fact that the stack's programs cannot report.
	Limits []string `json:"limits"`
	// MaxUnattributed limits the share of time that the agent reports as unattributed in the scenario "blame". If the
	// file of a stack omits this limit, the limit is 0.1. Stacks that lack a source of timestamps can need a higher
	// limit.
	MaxUnattributed float64 `json:"max_unattributed"`
}

// Feature is a feature of Kubernetes that some stacks lack.
type Feature string

const (
	// ImageVolumes are volumes with the files of an image. Image volumes need containerd 2.1 and Kubernetes 1.35, which
	// enables image volumes by default.
	ImageVolumes Feature = "image-volumes"
	// NodeImpersonation means that a pod can impersonate its own node (constrained impersonation). Kubernetes 1.36
	// enables this feature by default.
	NodeImpersonation Feature = "node-impersonation"
)

// Has reports whether the stack has a feature.
func (s Stack) Has(f Feature) bool { return !slices.Contains(s.Lacks, f) }

// Kubernetes holds the Kubernetes version of a stack. The major version is always 1.
type Kubernetes struct {
	Dir   string `json:"dir"`   // directory below lab/tools whose go.mod file selects the version
	Minor int    `json:"minor"` // minor version
}

// PullsMayHidePlugins reports whether an agent must assume that the duration of a pull includes the time of the
// kubelet's credential plugins. Before version 1.33, the kubelet runs the credential plugins after the Event Pulling.
// Therefore, the duration in the Event Pulled includes the time of the plugins (pkg/kubelet/images/puller.go). From
// version 1.33 on, the kubelet runs the credential plugins before the Event Pulling. By default, kubelets set the pod's
// field status.observedGeneration only from version 1.34 on. So an agent recognizes kubelet 1.34 and later, but cannot
// distinguish kubelet 1.33 from earlier kubelets.
func (k Kubernetes) PullsMayHidePlugins() bool { return k.Minor < 34 }

// ReportsHooksLate reports whether the status that shows the end of the last container's post-start hook is up to a
// second late. Before version 1.36, the kubelet first waits until it lists all containers again. From version 1.36 on,
// the kubelet lists the containers of a pod immediately after each sync of the pod (pkg/kubelet/kubelet.go, SyncPod:
// RequestPodRelist).
func (k Kubernetes) ReportsHooksLate() bool { return k.Minor < 36 }

// Containerd selects containerd's version and settings.
type Containerd struct {
	Dir   string `json:"dir"`   // directory below lab/tools whose go.mod file selects the version
	Major int    `json:"major"` // major version, 1 or 2; the configuration files of the two versions differ
	Minor int    `json:"minor"` // minor version
	// DiscardUnpackedLayers makes containerd remove the compressed data of each layer after unpacking.
	DiscardUnpackedLayers bool `json:"discard_unpacked_layers"`
	// If Stargz is true, containerd uses the lazy snapshotter stargz. The containerd program from the directory Dir
	// contains this snapshotter.
	Stargz bool `json:"stargz"`
	// If Debian is true, containerd is the program of Debian's package, and not the program from the directory Dir.
	Debian bool `json:"debian"`
	// Mirror makes containerd pull all images of the lab's registry from a mirror (hosts.toml).
	Mirror bool `json:"mirror"`
}

// IsBefore reports whether the version is earlier than a given version.
func (c Containerd) IsBefore(major, minor int) bool {
	return c.Major < major || c.Major == major && c.Minor < minor
}

// KeepsLayers reports whether containerd keeps the compressed data of each layer after unpacking. containerd stores the
// arrival time of a layer together with this data. If containerd keeps the data, an agent must report the bytes of each
// download. The agent must also separate the download from the unpacking.
func (c Containerd) KeepsLayers() bool { return !c.DiscardUnpackedLayers }

// WritesImagesTwice reports whether containerd writes an image a second time under its own name at the end of a pull.
// If the disk is slow, an agent without Events cannot distinguish this second write from a second pull. containerd
// 1.6.20, which is Debian's package, always writes the image twice (pkg/cri/server/image_pull.go,
// createImageReference).
func (c Containerd) WritesImagesTwice() bool { return c.Debian }

// Module returns the path of containerd's Go module.
func (c Containerd) Module() string {
	const module = "github.com/containerd/containerd"
	if c.Major >= 2 {
		return fmt.Sprintf("%s/v%d", module, c.Major)
	}
	return module
}

// Names returns the names of all stacks in alphabetical order.
func Names() []string {
	entries, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil // the pattern is valid, so Glob returns no error
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry, ".json"))
	}
	slices.Sort(names)
	return names
}

// Load returns the stack with the given name. An empty name means Current.
func Load(name string) (Stack, error) {
	current, err := read(Current)
	if err != nil || name == "" || name == Current {
		return current, err
	}
	s, err := read(name)
	if err != nil {
		return Stack{}, err
	}
	if s.Kubernetes.Dir == "" {
		s.Kubernetes = current.Kubernetes
	}
	if s.Containerd.Dir == "" {
		c := current.Containerd
		s.Containerd.Dir, s.Containerd.Major, s.Containerd.Minor = c.Dir, c.Major, c.Minor
	}
	return s, nil
}

func read(name string) (Stack, error) {
	if !slices.Contains(Names(), name) {
		return Stack{}, fmt.Errorf("unknown stack %q: must be one of %s", name, strings.Join(Names(), ", "))
	}
	data, err := files.ReadFile(path.Clean(name + ".json"))
	if err != nil {
		return Stack{}, fmt.Errorf("read the stack %q: %w", name, err)
	}
	s := Stack{Name: name, MaxUnattributed: 0.1}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return Stack{}, fmt.Errorf("read the stack %q: %w", name, err)
	}
	if s.Summary == "" {
		return Stack{}, fmt.Errorf("read the stack %q: %w", name, errors.New("the field \"summary\" is empty"))
	}
	return s, nil
}
