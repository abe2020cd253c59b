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

// Prometheus returns the directory with the programs prometheus and promtool. If the cache does not contain the
// programs, the function downloads Debian's package and unpacks it into the cache. The function does not install the
// package, because an installation would add a user and start a server. If the machine lacks apt-get or dpkg-deb, the
// function does not download the package. Instead, the function uses the programs in PATH.
func Prometheus(ctx context.Context, report *progress.Reporter, cache string) (string, error) {
	dir := filepath.Join(cache, "prometheus")
	programs := filepath.Join(dir, "usr/bin")
	if file(filepath.Join(programs, "promtool"))() {
		return programs, nil
	}
	if !program("apt-get")() || !program("dpkg-deb")() {
		return onPath()
	}
	report.Say("unpacking Debian's prometheus into %s", dir)
	half := dir + "-new"
	if err := errors.Join(os.RemoveAll(half), os.MkdirAll(half, 0o755)); err != nil {
		return "", fmt.Errorf("create the directory for Prometheus: %w", err)
	}
	defer os.RemoveAll(half)
	if err := downloadAndUnpack(ctx, "prometheus", half); err != nil {
		return "", err
	}
	_ = os.RemoveAll(dir) // without promtool, the directory is incomplete
	if err := os.Rename(filepath.Join(half, "root"), dir); err != nil {
		return "", fmt.Errorf("store Prometheus: %w", err)
	}
	return programs, nil
}

func onPath() (string, error) {
	server, err := exec.LookPath("prometheus")
	_, toolErr := exec.LookPath("promtool")
	if errors.Join(err, toolErr) != nil {
		return "", describe([]requirement{{pkg: "prometheus",
			why: "2.42 or newer, with promtool; it scrapes the agent"}})
	}
	return filepath.Dir(server), nil
}

// downloadAndUnpack downloads a package to dir and unpacks its files to dir/root. downloadAndUnpack does not run the
// package's scripts.
func downloadAndUnpack(ctx context.Context, pkg, dir string) error {
	if _, err := apt(ctx, dir, "download", pkg); err != nil { // the machine's package lists can be missing or old
		if out, err := apt(ctx, dir, "update"); err != nil {
			return fmt.Errorf("update the package lists: %w:\n%s", err, out)
		}
		if out, err := apt(ctx, dir, "download", pkg); err != nil {
			return fmt.Errorf("download package %s: %w:\n%s", pkg, err, out)
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, pkg+"_*.deb"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("download package %s: got %d files, want 1", pkg, len(found))
	}
	out, err := exec.CommandContext(ctx, "dpkg-deb", "-x", found[0], filepath.Join(dir, "root")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("unpack package %s: %w:\n%s", pkg, err, strings.TrimSpace(string(out)))
	}
	return nil
}
