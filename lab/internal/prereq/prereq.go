// Package prereq ensures that the machine meets the lab's requirements before the lab starts anything.
package prereq

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/podlapse/podlapse/lab/internal/progress"
)

// Supported returns nil if this machine can run a node. If this machine cannot run a node, Supported returns an error
// with the reason.
func Supported(system string, uid int) error {
	if system != "linux" {
		return fmt.Errorf("the lab runs real containers and requires Linux, but this machine runs %s", system)
	}
	if uid != 0 {
		return errors.New("the lab runs real containers and requires root: run the lab with sudo")
	}
	return nil
}

// Here returns the result of Supported for this machine and this user.
func Here() error { return Supported(runtime.GOOS, os.Getuid()) }

// requirement is a required Debian package. The field "why" contains the reason why the lab needs the package. The
// function "present" checks whether a certain file or program of the package exists.
type requirement struct {
	pkg     string
	why     string
	present func() bool
}

func program(name string) func() bool {
	return func() bool { _, err := exec.LookPath(name); return err == nil }
}

func file(pattern string) func() bool {
	return func() bool { found, _ := filepath.Glob(pattern); return len(found) > 0 }
}

// toRun returns the packages that the node needs.
func toRun() []requirement {
	return []requirement{
		{"mount", "the kubelet mounts volumes with this program", program("mount")},
		{"libseccomp2", "runc is linked with this library", file("/usr/lib/*/libseccomp.so.2")},
	}
}

// toBuild returns the packages that the lab needs only to build missing programs.
func toBuild() []requirement {
	return []requirement{
		{"ca-certificates", "go downloads modules over TLS", file("/etc/ssl/certs/ca-certificates.crt")},
		{"gcc", "runc contains C code", program("gcc")},
		{"libc6-dev", "runc contains C code", file("/usr/include/stdlib.h")},
		{"libseccomp-dev", "runc is linked with this library", file("/usr/include/seccomp.h")},
		{"pkg-config", "the build finds libseccomp with this program", program("pkg-config")},
	}
}

// Packages installs the missing Debian packages. If the installation fails, the error contains the names of all missing
// packages.
func Packages(ctx context.Context, report *progress.Reporter, build bool) error {
	wanted := toRun()
	if build {
		wanted = append(wanted, toBuild()...)
	}
	return ensure(ctx, report, wanted)
}

// ensure installs the required packages that are missing. If the installation fails, the error contains the names of
// the missing packages.
func ensure(ctx context.Context, report *progress.Reporter, wanted []requirement) error {
	missing := absent(wanted)
	if len(missing) == 0 {
		return nil
	}
	if !program("apt-get")() {
		return describe(missing)
	}
	report.Say("installing %s", strings.Join(names(missing), " "))
	if out, err := install(ctx, names(missing)); err != nil {
		return fmt.Errorf("%w; apt-get failed to install these packages (%w):\n%s", describe(missing), err, out)
	}
	if still := absent(missing); len(still) > 0 {
		return fmt.Errorf("%w: these packages are still missing, although apt-get reported success", describe(still))
	}
	return nil
}

func absent(wanted []requirement) []requirement {
	var missing []requirement
	for _, r := range wanted {
		if !r.present() {
			missing = append(missing, r)
		}
	}
	return missing
}

func names(requirements []requirement) []string {
	var all []string
	for _, r := range requirements {
		all = append(all, r.pkg)
	}
	return all
}

func describe(missing []requirement) error {
	var parts []string
	for _, r := range missing {
		parts = append(parts, fmt.Sprintf("%s (%s)", r.pkg, r.why))
	}
	return fmt.Errorf("install these packages, or their equivalents in your distribution: %s",
		strings.Join(parts, ", "))
}

func install(ctx context.Context, packages []string) (string, error) {
	if out, err := apt(ctx, "", "update"); err != nil {
		return out, err
	}
	return apt(ctx, "", append([]string{"install", "-y", "--no-install-recommends"}, packages...)...)
}

// apt runs apt-get in a directory. If apt-get fails, the error contains the last lines of apt-get's output.
func apt(ctx context.Context, dir string, arguments ...string) (string, error) {
	// Another apt process can be running, for example shortly after the boot. With this option, apt-get waits until
	// another apt process has ended.
	arguments = append([]string{"-o", "DPkg::Lock::Timeout=120", "-q"}, arguments...)
	cmd := exec.CommandContext(ctx, "apt-get", arguments...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	out, err := cmd.CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return strings.Join(lines[max(0, len(lines)-15):], "\n"), err
	}
	return "", nil
}
