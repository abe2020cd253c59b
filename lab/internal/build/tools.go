package build

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/podlapse/podlapse/lab/internal/stack"
)

// group contains the arguments of one call of go build.
type group struct {
	module   string // directory below lab/ whose go.mod pins the versions of the programs
	cgo      string // value of the environment variable CGO_ENABLED
	tags     string
	programs []program
	pinned   string   // path of a module in go.mod; the linker writes its version into the programs
	stamps   []string // arguments of the linker's flag -X; they can contain {version}, {major} and {minor}
}

type program struct {
	name string // name of the program's file in the cache
	pkg  string
}

// runtimeGroups returns the programs of the container runtime. Programs without cgo are static and link faster. Only
// runc requires cgo. runc uses C for seccomp, and for code that enters namespaces before the Go runtime starts. runc's
// build tags exclude libc's resolver, because its compilation takes a long time. All stacks use the same runc.
func runtimeGroups(c stack.Containerd) []group {
	commands := c.Module() + "/cmd/"
	containerd := commands + "containerd"
	// This stack runs containerd with a built-in stargz snapshotter. The project stargz-snapshotter provides no command
	// for such a containerd, so the lab has its own command.
	if c.Stargz {
		containerd = modulePath + "/tools/" + c.Dir
	}
	programs := []program{
		{"containerd", containerd},
		{"containerd-shim-runc-v2", commands + "containerd-shim-runc-v2"},
		{"ctr", commands + "ctr"},
	}
	if c.Major == 1 { // containerd 2 sets up the loopback device itself
		programs = append(programs, program{"loopback", "github.com/containernetworking/plugins/plugins/main/loopback"})
	}
	return []group{
		{"tools/" + c.Dir, "0", "no_btrfs,no_devmapper,no_zfs", programs, c.Module(),
			[]string{c.Module() + "/version.Version={version}"}},
		{
			"tools/containerd",
			"1",
			"seccomp,netgo,osusergo",
			[]program{{"runc", "github.com/opencontainers/runc"}},
			"",
			nil,
		},
	}
}

// kubernetesGroups returns etcd and the programs of Kubernetes. The argument is a directory below lab/tools. All stacks
// use the same etcd. In Kubernetes before 1.31, the tag providerless excludes the code for cloud providers.
func kubernetesGroups(dir string) []group {
	const (
		kubernetes = "k8s.io/kubernetes/cmd/"
		withEtcd   = "kubernetes" // the directory whose go.mod file also pins the version of etcd
	)
	etcd := []program{{"etcd", "go.etcd.io/etcd/server/v3"}}
	programs := []program{
		{"kube-apiserver", kubernetes + "kube-apiserver"},
		{"kube-controller-manager", kubernetes + "kube-controller-manager"},
		{"kube-scheduler", kubernetes + "kube-scheduler"},
		{"kubectl", kubernetes + "kubectl"},
		{"kubelet", kubernetes + "kubelet"},
	}
	if dir == withEtcd { // build etcd together with Kubernetes, because they share packages
		return []group{{"tools/" + dir, "0", "", append(etcd, programs...), "k8s.io/kubernetes", kubernetesStamps()}}
	}
	return []group{
		{"tools/" + dir, "0", "providerless", programs, "k8s.io/kubernetes", kubernetesStamps()},
		{module: "tools/" + withEtcd, cgo: "0", programs: etcd},
	}
}

func kubernetesStamps() []string {
	var stamps []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		stamps = append(stamps, pkg+".gitVersion={version}", pkg+".gitMajor={major}", pkg+".gitMinor={minor}",
			pkg+".gitTreeState=clean")
	}
	return stamps
}

// output returns the file name that the command `go build` gives to the program. The file name is the last element of
// the package path. If the last element is a major version, such as v3, the file name is the element before it.
func (p program) output() string {
	elements := strings.Split(p.pkg, "/")
	last := elements[len(elements)-1]
	if regexp.MustCompile(`^v[0-9]+$`).MatchString(last) {
		last = elements[len(elements)-2]
	}
	return last
}

// linkerFlags returns the flags for the linker. As in release builds, the flags strip the programs and set their
// versions. If the version is not set, the API server reports v0.0.0. Clients then assume that the API server is too
// old for some features.
func (g group) linkerFlags(source string) (string, error) {
	flags := "-s -w"
	if g.pinned == "" {
		return flags, nil
	}
	data, err := os.ReadFile(filepath.Join(source, g.module, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("read tool versions: %w", err)
	}
	pattern := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(g.pinned) + ` (v(\d+)\.(\d+)\.\S+)`)
	match := pattern.FindStringSubmatch(string(data))
	if match == nil {
		return "", fmt.Errorf("read tool versions: %s/go.mod must require %s", g.module, g.pinned)
	}
	fill := strings.NewReplacer("{version}", match[1], "{major}", match[2], "{minor}", match[3])
	for _, stamp := range g.stamps {
		flags += " -X " + fill.Replace(stamp)
	}
	return flags, nil
}
