package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/prereq"
	"github.com/podlapse/podlapse/lab/internal/progress"
)

// promtool returns the path of the program promtool. promtool tries the environment variable PROMTOOL, then PATH, and
// then the Prometheus of the lab. Every machine that runs the lab can download this Prometheus.
func promtool(t *testing.T) string {
	t.Helper()
	if given := os.Getenv("PROMTOOL"); given != "" {
		return given
	}
	if path, err := exec.LookPath("promtool"); err == nil {
		return path
	}
	if err := prereq.Here(); err != nil {
		t.Skip("no promtool (2.42 or later): install Debian's package prometheus, or set PROMTOOL to its path; "+
			"it cannot be downloaded here: ", err)
	}
	place, err := layout.FromEnvironment(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	programs, err := prereq.Prometheus(t.Context(), progress.New(os.Stderr), place.Cache)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(programs, "promtool")
}
