package prereq

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/progress"
)

func TestSupported(t *testing.T) {
	if err := Supported("linux", 0); err != nil {
		t.Error(err)
	}
	if err := Supported("darwin", 0); err == nil || !strings.Contains(err.Error(), "darwin") {
		t.Errorf("error %v does not name the system", err)
	}
	if err := Supported("linux", 1000); err == nil || !strings.Contains(err.Error(), "root") {
		t.Errorf("error %v does not name root", err)
	}
}

func TestErrorNamesEveryMissingPackage(t *testing.T) {
	never := func() bool { return false }
	missing := absent([]requirement{{"one", "first", never}, {"two", "second", never},
		{"three", "third", func() bool { return true }}})
	message := describe(missing).Error()
	if !strings.Contains(message, "one (first)") || !strings.Contains(message, "two (second)") ||
		strings.Contains(message, "three") {
		t.Errorf("error %q", message)
	}
}

func TestPrometheusWithoutAptGet(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	cache := t.TempDir()
	if _, err := Prometheus(t.Context(), progress.New(io.Discard), cache); err == nil ||
		!strings.Contains(err.Error(), "prometheus") {
		t.Errorf("error %v does not name the package", err)
	}
	programs := filepath.Join(cache, "prometheus/usr/bin")
	if err := os.MkdirAll(programs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(programs, "promtool"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := Prometheus(t.Context(), progress.New(io.Discard), cache); err != nil || got != programs {
		t.Errorf("with unpacked programs in the cache: got %s, %v", got, err)
	}
}
