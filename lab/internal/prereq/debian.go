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

// unpackInto downloads a Debian package and unpacks its files to the directory dir. If dir exists, unpackInto replaces
// it. unpackInto does not install the package.
func unpackInto(ctx context.Context, report *progress.Reporter, pkg, dir string) error {
	report.Say("unpacking Debian's %s into %s", pkg, dir)
	half := dir + "-new"
	if err := errors.Join(os.RemoveAll(half), os.MkdirAll(half, 0o755)); err != nil {
		return fmt.Errorf("create the directory for package %s: %w", pkg, err)
	}
	defer os.RemoveAll(half)
	if err := downloadAndUnpack(ctx, pkg, half); err != nil {
		return err
	}
	_ = os.RemoveAll(dir) // the directory is incomplete
	if err := os.Rename(filepath.Join(half, "root"), dir); err != nil {
		return fmt.Errorf("store package %s: %w", pkg, err)
	}
	return nil
}

// downloadAndUnpack downloads a package to dir and unpacks its files to dir/root. downloadAndUnpack does not run the
// package's scripts.
func downloadAndUnpack(ctx context.Context, pkg, dir string) error {
	if _, err := apt(ctx, dir, "download", pkg); err != nil { // the machine's package lists can be missing or old
		if ctx.Err() != nil {
			return fmt.Errorf("download package %s: %w", pkg, ctx.Err())
		}
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
