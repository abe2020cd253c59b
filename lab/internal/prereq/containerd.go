package prereq

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/podlapse/podlapse/lab/internal/progress"
)

// Containerd returns a directory with the programs of a container runtime. containerd, its shim and ctr are from
// Debian's package, and all other programs are links to the programs in the directory built. The argument version is
// the expected version of the package, for example 1.6. If Debian has another version, Containerd returns an error. The
// caller holds the lock of the cache.
func Containerd(ctx context.Context, report *progress.Reporter, cache, built, version string) (string, error) {
	dir := filepath.Join(cache, "containerd-debian")
	programs := filepath.Join(dir, "usr/bin")
	if !exists(filepath.Join(programs, "containerd")) {
		if !program("apt-get")() || !program("dpkg-deb")() {
			return "", errors.New("this stack uses Debian's package containerd: run the lab on Debian 12, " +
				"with apt-get and dpkg-deb in PATH")
		}
		if err := unpackInto(ctx, report, "containerd", dir); err != nil {
			return "", err
		}
	}
	out, err := exec.CommandContext(ctx, filepath.Join(programs, "containerd"), "--version").CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("read the version of the containerd in %s: %w: %s: delete the directory and try again",
			dir, err, text)
	}
	if !strings.Contains(text, " "+version+".") {
		return "", fmt.Errorf("this stack uses containerd %s of Debian 12, but the package in %s contains %q: run the "+
			"lab on Debian 12; if this machine runs Debian 12, delete the directory and try again", version, dir, text)
	}
	return combine(built, programs, dir+"-"+strings.TrimPrefix(filepath.Base(built), "runtime-"))
}

// combine creates the directory dir, with a link to each program of the directory built. Programs in the directory
// preferred replace programs with the same name. If dir already has these links, combine changes nothing, because a
// node can use dir.
func combine(built, preferred, dir string) (string, error) {
	names, err := os.ReadDir(built)
	if err != nil {
		return "", fmt.Errorf("list the runtime's programs: %w", err)
	}
	targets := make(map[string]string, len(names))
	complete := true
	for _, name := range names {
		target := filepath.Join(built, name.Name())
		if own := filepath.Join(preferred, name.Name()); exists(own) {
			target = own
		}
		targets[name.Name()] = target
		linked, err := os.Readlink(filepath.Join(dir, name.Name()))
		complete = complete && err == nil && linked == target
	}
	if complete {
		return dir, nil
	}
	half := dir + "-new"
	if err := errors.Join(os.RemoveAll(half), os.RemoveAll(dir), os.MkdirAll(half, 0o755)); err != nil {
		return "", fmt.Errorf("create the directory of the runtime's programs: %w", err)
	}
	for name, target := range targets {
		if err := os.Symlink(target, filepath.Join(half, name)); err != nil {
			return "", fmt.Errorf("link the runtime's programs: %w", err)
		}
	}
	if err := os.Rename(half, dir); err != nil {
		return "", fmt.Errorf("store the links to the runtime's programs: %w", err)
	}
	return dir, nil
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }
