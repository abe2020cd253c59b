package timeline

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Script is what a test outside of the package sees of a script in testdata.
type Script struct {
	Name         string
	Scope        Scope
	Observations []Observation
	AsOf         time.Time
}

// Scripts reads all scripts.
func Scripts(t testing.TB) []Script {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.script")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var all []Script
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		input, _, _ := bytes.Cut(data, []byte("---\n"))
		s := parseScript(t, input)
		all = append(all, Script{strings.TrimSuffix(filepath.Base(path), ".script"), s.scope, s.observations, s.asOf})
	}
	return all
}

// RandomObservations is nonsense about one pod.
func RandomObservations(seed uint64) []Observation {
	return randomObservations(rand.New(rand.NewPCG(seed, 7)))
}
