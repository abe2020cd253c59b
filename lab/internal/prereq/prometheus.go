package prereq

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"

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
	if err := unpackInto(ctx, report, "prometheus", dir); err != nil {
		return "", err
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
