package build

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// group is one call of go build. The order of groups is the order of building.
type group struct {
	module   string // directory below lab/ whose go.mod pins the versions
	cgo      string // CGO_ENABLED
	tags     string
	programs []program
}

type program struct {
	name string // what the file is called in the cache
	pkg  string
}

// groups is the table of everything that is built from other people's modules. Without cgo the
// programs are static and link faster; only runc cannot do without (seccomp, and it enters namespaces
// before the Go runtime starts).
func groups() []group {
	const (
		containerd = "github.com/containerd/containerd/v2/cmd/"
		kubernetes = "k8s.io/kubernetes/cmd/"
	)
	return []group{
		{"tools/containerd", "0", "no_btrfs,no_devmapper,no_zfs", []program{
			{"containerd", containerd + "containerd"},
			{"containerd-shim-runc-v2", containerd + "containerd-shim-runc-v2"},
			{"ctr", containerd + "ctr"},
		}},
		{"tools/containerd", "1", "seccomp", []program{{"runc", "github.com/opencontainers/runc"}}},
		{"tools/kubernetes", "0", "", []program{
			{"etcd", "go.etcd.io/etcd/server/v3"},
			{"kube-apiserver", kubernetes + "kube-apiserver"},
			{"kube-controller-manager", kubernetes + "kube-controller-manager"},
			{"kube-scheduler", kubernetes + "kube-scheduler"},
			{"kubectl", kubernetes + "kubectl"},
			{"kubelet", kubernetes + "kubelet"},
		}},
	}
}

// output is the name go build gives a program of this package: the last path element that is not a
// major version.
func (p program) output() string {
	elements := strings.Split(p.pkg, "/")
	last := elements[len(elements)-1]
	if regexp.MustCompile(`^v[0-9]+$`).MatchString(last) {
		last = elements[len(elements)-2]
	}
	return last
}

// linkerFlags strips the programs and stamps Kubernetes' version, which its release build would do:
// without it the API server calls itself v0.0.0 and clients refuse features.
func (g group) linkerFlags(source string) (string, error) {
	flags := "-s -w"
	if g.module != "tools/kubernetes" {
		return flags, nil
	}
	data, err := os.ReadFile(filepath.Join(source, g.module, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("read tool versions: %w", err)
	}
	version := regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes v(\d+)\.(\d+)\.\S+`).FindStringSubmatch(string(data))
	if version == nil {
		return "", fmt.Errorf("read tool versions: %s/go.mod requires no k8s.io/kubernetes", g.module)
	}
	full := strings.Fields(version[0])[1]
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += fmt.Sprintf(" -X %s.gitVersion=%s -X %s.gitMajor=%s -X %s.gitMinor=%s -X %s.gitTreeState=clean",
			pkg, full, pkg, version[1], pkg, version[2], pkg)
	}
	return flags, nil
}
