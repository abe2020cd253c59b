package timeline

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Script is the content of a script in testdata, for tests outside this package.
type Script struct {
	Name         string
	Scope        Scope
	Observations []Observation
	AsOf         time.Time
}

// Scripts reads all scripts of start-ups.
func Scripts(t testing.TB) []Script {
	t.Helper()
	return scripts(t, "testdata/*.script")
}

// TerminationScripts reads all scripts of terminations.
func TerminationScripts(t testing.TB) []Script {
	t.Helper()
	return scripts(t, "testdata/terminations/*.script")
}

func scripts(t testing.TB, pattern string) []Script {
	t.Helper()
	var all []Script
	for _, path := range scriptPaths(t, pattern) {
		input, _ := readScript(t, path)
		s := parseScript(t, input)
		all = append(all, Script{strings.TrimSuffix(filepath.Base(path), ".script"), s.scope, s.observations, s.asOf})
	}
	return all
}

// RandomObservations returns random observations about one pod.
func RandomObservations(seed uint64) []Observation {
	return randomObservations(rand.New(rand.NewPCG(seed, 7)))
}

// TerminationOf folds observations into the pod's termination. TerminationOf returns nil without a deletion request.
func TerminationOf(observations []Observation) *TerminationEvidence {
	return terminationOf(observations)
}
