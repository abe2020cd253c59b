package main

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/feature"
	"github.com/podlapse/podlapse/internal/health"
)

// TestFeaturesAreOffByDefault starts each feature without its flags. The agent has no registry, no health board and no
// logger, so a feature panics if it is on.
func TestFeaturesAreOffByDefault(t *testing.T) {
	var c config
	if _, err := c.flagTable().Parse([]string{"--node-name=a"}, environment{}.get, 0); err != nil {
		t.Fatal(err)
	}
	for _, f := range c.features {
		name := f.Flags[0].Name
		if hooks := f.Start(feature.Agent{}); !reflect.ValueOf(hooks).IsZero() {
			t.Errorf("feature --%s is on: %+v", name, hooks)
		}
		if f.WholePods != nil && f.WholePods() || f.Check != nil && len(f.Check()) > 0 {
			t.Errorf("feature --%s has requirements although it is off", name)
		}
	}
}

// TestFlagsTurnFeaturesOn starts each feature with its flag.
func TestFlagsTurnFeaturesOn(t *testing.T) {
	var c config
	args := []string{"--node-name=a", "--annotate=true", "--verify-interval=10m", "--probes-file=" + probesFile(t)}
	env := environment{"SERVE_OBJECTS": "true", "WATCH_DELAYS": "on"}
	if _, err := c.flagTable().Parse(args, env.get, 0); err != nil {
		t.Fatal(err)
	}
	agent := feature.Agent{
		Registerer: prometheus.NewRegistry(), Health: health.NewBoard(time.Now, zap.NewNop()), Logger: zap.NewNop(),
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, f := range c.features {
		hooks := f.Start(agent)
		if reflect.ValueOf(hooks).IsZero() {
			t.Errorf("feature --%s is off", f.Flags[0].Name)
		}
		if hooks.Components == nil {
			continue
		}
		for _, part := range hooks.Components() { // Run also stops the goroutines of Start
			if err := part.Run(stopped); err != nil {
				t.Errorf("component %s: %v", part.Name, err)
			}
		}
	}
	if !c.wholePods() {
		t.Error("--serve-objects does not require whole pod objects")
	}
}

// compatibilityRow matches a row of the table "Core and compatibility" with a directory and a line of compat.go.
var compatibilityRow = regexp.MustCompile(
	"(?m)^\\| .* \\| compatibility \\| .* \\| `(internal/[a-z]+)` \\| `(.+)` \\|$")

// TestFeaturesAreRemovable compares the table in docs/architecture.md with compat.go. Only compat.go can import a
// feature, so to remove a feature, it is enough to delete its directory, one import and one line.
func TestFeaturesAreRemovable(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("compat.go")
	if err != nil {
		t.Fatal(err)
	}
	rows := compatibilityRow.FindAllStringSubmatch(string(page), -1)
	listed := map[string]bool{}
	for _, row := range rows {
		dir, line := row[1], row[2]
		listed[dir] = true
		if info, err := os.Stat(filepath.Join("../..", dir)); err != nil || !info.IsDir() {
			t.Errorf("docs/architecture.md: %s is not a directory", dir)
		}
		if strings.Count(string(source), line) != 1 {
			t.Errorf("docs/architecture.md: compat.go does not contain %q exactly once", line)
		}
	}
	imported := map[string]bool{}
	for _, dir := range sourceDirectories(t) {
		for path, file := range sourceFiles(t, filepath.Join("../..", dir)) {
			for _, spec := range file.Imports {
				name, _ := strconv.Unquote(spec.Path.Value)
				name = strings.TrimPrefix(name, module)
				inCompat := path == "../../cmd/agent/compat.go"
				if inCompat && name != "internal/feature" {
					imported[name] = true
				}
				if listed[name] && !inCompat {
					t.Errorf("%s imports %s: only compat.go can import a removable feature", path, name)
				}
			}
		}
	}
	if !reflect.DeepEqual(listed, imported) {
		t.Errorf("docs/architecture.md lists %v, compat.go imports %v", listed, imported)
	}
	if lines := strings.Count(string(source), ".Feature("); lines != len(new(config).compatibility()) {
		t.Errorf("compat.go has %d lines with features, want one line for each feature", lines)
	}
	if slices.ContainsFunc(rows, func(row []string) bool { return strings.Contains(row[0], "| core |") }) {
		t.Error("a row is both core and compatibility")
	}
}
