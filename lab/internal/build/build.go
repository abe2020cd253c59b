package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/progress"
	"github.com/podlapse/podlapse/lab/internal/stack"
)

// Programs contains the directories of the built programs.
type Programs struct {
	Runtime    string // containerd, its shim, its client ctr, and runc
	Kubernetes string // the programs of Kubernetes, and etcd
	Payload    string
}

// RuntimeTool returns the path of a program of the container runtime.
func (p Programs) RuntimeTool(name string) string { return filepath.Join(p.Runtime, name) }

// Tool returns the path of etcd or of a program of Kubernetes.
func (p Programs) Tool(name string) string { return filepath.Join(p.Kubernetes, name) }

// Workload returns the path of the program that runs in the lab's images.
func (p Programs) Workload() string { return filepath.Join(p.Payload, WorkloadName) }

// Builder builds the programs that are missing from the cache.
type Builder struct {
	Source string // the lab's source directory
	Cache  string
	Stack  stack.Stack
	Report *progress.Reporter
}

// Plan returns the directories of the programs for the builder's stack. If the directory of the runtime's programs or
// of Kubernetes' programs does not exist, the result "build" is true.
func (b Builder) Plan(ctx context.Context) (programs Programs, build bool, err error) {
	version, err := b.goVersion(ctx)
	if err != nil {
		return Programs{}, false, err
	}
	runtime, err := toolKey(b.Source, version, runtimeGroups(b.Stack.Containerd))
	if err != nil {
		return Programs{}, false, err
	}
	kubernetes, err := toolKey(b.Source, version, kubernetesGroups(b.Stack.Kubernetes.Dir))
	if err != nil {
		return Programs{}, false, err
	}
	own, err := payloadKey(b.Source, version)
	if err != nil {
		return Programs{}, false, err
	}
	programs = Programs{
		Runtime:    filepath.Join(b.Cache, "runtime-"+runtime),
		Kubernetes: filepath.Join(b.Cache, "kubernetes-"+kubernetes),
		Payload:    filepath.Join(b.Cache, "payload-"+own),
	}
	return programs, !exists(programs.Runtime) || !exists(programs.Kubernetes), nil
}

// Build builds the missing programs of a plan. Build fills each directory under a temporary name and then renames the
// directory, so a directory with its final name is always complete.
func (b Builder) Build(ctx context.Context, programs Programs) error {
	if exists(programs.Runtime) && exists(programs.Kubernetes) && exists(programs.Payload) {
		return nil
	}
	unlock, err := b.LockCache(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	own := group{module: ".", cgo: "0", programs: payload()}
	if err := b.fill(ctx, programs.Payload, []group{own}); err != nil {
		return err
	}
	// Build fills the directories in parallel. While the linker of one program uses only one core, the compiler can
	// build another program on the other cores.
	fills, ctx := errgroup.WithContext(ctx)
	fills.Go(func() error { return b.fill(ctx, programs.Runtime, runtimeGroups(b.Stack.Containerd)) })
	fills.Go(func() error { return b.fill(ctx, programs.Kubernetes, kubernetesGroups(b.Stack.Kubernetes.Dir)) })
	return fills.Wait()
}

// LockCache locks the cache. The caller must call unlock.
func (b Builder) LockCache(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return nil, fmt.Errorf("create build cache: %w", err)
	}
	if unlock, err = b.lock(ctx); err != nil {
		return nil, err
	}
	b.removeHalfBuilt()
	return unlock, nil
}

func (b Builder) fill(ctx context.Context, dir string, groups []group) error {
	if exists(dir) {
		return nil
	}
	half, err := os.MkdirTemp(b.Cache, halfPrefix)
	if err != nil {
		return fmt.Errorf("create build directory: %w", err)
	}
	defer os.RemoveAll(half)
	if err := os.Chmod(half, 0o755); err != nil {
		return fmt.Errorf("create build directory: %w", err)
	}
	builds, ctx := errgroup.WithContext(ctx)
	for _, g := range groups {
		builds.Go(func() error { return b.compile(ctx, half, g) })
	}
	if err := builds.Wait(); err != nil {
		return err
	}
	if err := os.Rename(half, dir); err != nil {
		return fmt.Errorf("fill build cache: %w", err)
	}
	return nil
}

const halfPrefix = "half-"

// removeHalfBuilt removes the directories that an interrupted build left in the cache. The caller holds the lock of the
// cache, so no other build uses the directories.
func (b Builder) removeHalfBuilt() {
	left, _ := filepath.Glob(filepath.Join(b.Cache, halfPrefix+"*"))
	for _, dir := range left {
		_ = os.RemoveAll(dir)
	}
}

func (b Builder) goVersion(ctx context.Context) (string, error) {
	// This command returns the Go version for the lab's module. A tool's go.mod file can require a newer Go version,
	// which go build then uses for this tool. Therefore, the cache key also contains each tool's go.mod file.
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOARCH")
	cmd.Dir = b.Source
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", errors.New("go is not in PATH: install Go 1.26 or newer from https://go.dev/dl")
	}
	if err != nil {
		return "", fmt.Errorf("read the Go version: %w", err)
	}
	return strings.Join(strings.Fields(string(out)), " "), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
