package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/stack"
)

// copySource creates a source tree with all files that affect the cache keys.
func copySource(t *testing.T) string {
	t.Helper()
	source, err := FindSource()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := []string{"go.mod", "tools/otlp/go.mod", "tools/otlp/go.sum", "tools/otlp/main.go",
		"tools/containerd-stargz/go.mod", "tools/containerd-stargz/go.sum", "tools/containerd-stargz/main.go",
		"tools/kubernetes/go.mod", "tools/kubernetes/go.sum", "tools/containerd/go.mod", "tools/containerd/go.sum"}
	for _, payload := range payloadSources() {
		found, _ := filepath.Glob(filepath.Join(source, payload, "*.go"))
		for _, path := range found {
			files = append(files, filepath.Join(payload, filepath.Base(path)))
		}
	}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(source, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func add(t *testing.T, path, text string) {
	t.Helper()
	data, _ := os.ReadFile(path)
	if err := os.WriteFile(path, append(data, text...), 0o644); err != nil {
		t.Fatal(err)
	}
}

// allGroups returns the groups of the stack "current".
func allGroups(t *testing.T) []group {
	t.Helper()
	return groupsOf(t, stack.Current)
}

func groupsOf(t *testing.T, name string) []group {
	t.Helper()
	s, err := stack.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return append(runtimeGroups(s.Containerd), kubernetesGroups(s.Kubernetes.Dir)...)
}

// TestContainerdWithSnapshotter checks that the stack stargz builds the lab's own main package, and that this package
// is part of the cache key.
func TestContainerdWithSnapshotter(t *testing.T) {
	dir, groups := copySource(t), groupsOf(t, "stargz")
	if got := groups[0].programs[0]; got.name != "containerd" || got.pkg != modulePath+"/tools/containerd-stargz" {
		t.Errorf("containerd is %+v", got)
	}
	before, err := toolKey(dir, "go1", groups)
	if err != nil {
		t.Fatal(err)
	}
	add(t, filepath.Join(dir, "tools/containerd-stargz/main.go"), "\n")
	if after, err := toolKey(dir, "go1", groups); err != nil || after == before {
		t.Errorf("the key ignores main.go: %v", err)
	}
}

func TestToolKeyDependsOnlyOnVersions(t *testing.T) {
	dir := copySource(t)
	key := func(version string) string {
		k, err := toolKey(dir, version, allGroups(t))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first := key("go1")
	if first != key("go1") {
		t.Error("the key differs although nothing changed")
	}
	if first == key("go2") {
		t.Error("the key ignores the Go version")
	}
	add(t, filepath.Join(dir, "internal/cni/log.go"), "\n")
	if first != key("go1") {
		t.Error("the lab's own sources change the key of the tools")
	}
	for _, module := range []string{"kubernetes", "containerd"} {
		before := key("go1")
		add(t, filepath.Join(dir, "tools", module, "go.sum"), "\n")
		if before == key("go1") {
			t.Errorf("the key ignores %s/go.sum", module)
		}
	}
}

func TestReceiverKeyDependsOnSourceAndVersions(t *testing.T) {
	dir := copySource(t)
	key := func() string {
		k, err := receiverKey(dir, "go1")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	tools, err := toolKey(dir, "go1", allGroups(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"go.mod", "go.sum", "main.go"} {
		before := key()
		add(t, filepath.Join(dir, "tools/otlp", file), "\n")
		if before == key() {
			t.Errorf("the key ignores %s", file)
		}
	}
	if after, err := toolKey(dir, "go1", allGroups(t)); err != nil || after != tools {
		t.Errorf("the receiver changes the key of the tools: %v", err)
	}
}

func TestPayloadKeyDependsOnSources(t *testing.T) {
	dir := copySource(t)
	key := func() string {
		k, err := payloadKey(dir, "go1")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first := key()
	add(t, filepath.Join(dir, "internal/cni/cni_test.go"), "\n")
	if first != key() {
		t.Error("a test changes the key")
	}
	add(t, filepath.Join(dir, "internal/workload/run.go"), "\n")
	if first == key() {
		t.Error("the key ignores the sources")
	}
}

func TestPayloadImportsOnlyItsSources(t *testing.T) {
	source, err := FindSource()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./cmd/cni",
		"./cmd/workload", "./cmd/runc-without-limits")
	cmd.Dir = source
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range strings.Fields(string(out)) {
		dir := strings.TrimPrefix(pkg, modulePath+"/")
		if !strings.Contains(" "+strings.Join(payloadSources(), " ")+" ", " "+dir+" ") {
			t.Errorf("the payload imports %s, which its cache key does not cover", pkg)
		}
	}
}

func TestVersionStamp(t *testing.T) {
	source, err := FindSource()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range allGroups(t) {
		flags, err := g.linkerFlags(source)
		if err != nil {
			t.Fatal(err)
		}
		if (strings.Contains(flags, " -X ")) != (g.pinned != "") || strings.Contains(flags, "{") {
			t.Errorf("%s: flags %q", g.pinned, flags)
		}
	}
}

func TestOutputName(t *testing.T) {
	for pkg, want := range map[string]string{"go.etcd.io/etcd/server/v3": "server",
		"github.com/opencontainers/runc": "runc"} {
		if got := (program{pkg: pkg}).output(); got != want {
			t.Errorf("%s: got %s, want %s", pkg, got, want)
		}
	}
}

func TestRemoveHalfBuilt(t *testing.T) {
	b := Builder{Cache: t.TempDir()}
	half := filepath.Join(b.Cache, halfPrefix+"1")
	if err := os.MkdirAll(half, 0o755); err != nil {
		t.Fatal(err)
	}
	b.removeHalfBuilt()
	if exists(half) {
		t.Error("the half-built directory remains")
	}
}
