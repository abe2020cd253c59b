package matrix

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/stack"
)

var update = flag.Bool("update", false, "write docs/compatibility.md again")

// The page in the repository must agree with the results in the repository.
func TestPageAgreesWithResults(t *testing.T) {
	const path = "../../../docs/compatibility.md"
	results, err := Read("../../compatibility")
	if err != nil || len(results) == 0 {
		t.Fatalf("no results: %v", err)
	}
	if *update {
		if err := os.WriteFile(path, []byte(Page(results, allStacks(t))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if !slices.Contains(stack.Names(), r.Stack) {
			t.Errorf("lab/compatibility contains a result of the unknown stack %q", r.Stack)
		}
		if strings.HasSuffix(r.Agent, "-dirty") {
			t.Errorf("the result of stack %q is from an agent with uncommitted changes: run make matrix STACK=%s",
				r.Stack, r.Stack)
		}
	}
	if string(page) != Page(results, allStacks(t)) {
		t.Errorf("%s does not agree with lab/compatibility: run go test ./internal/matrix -update in lab", path)
	}
}

func allStacks(t *testing.T) []stack.Stack {
	t.Helper()
	var stacks []stack.Stack
	for _, name := range stack.Names() {
		s, err := stack.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		stacks = append(stacks, s)
	}
	return stacks
}

func TestPageOfMadeUpResults(t *testing.T) {
	dir := t.TempDir()
	for _, r := range []Result{
		{Stack: "b", Kubernetes: "v1.30.14", Runtime: "containerd 1.7.35", Agent: "v0.1.0",
			TriedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			Outcomes: []Outcome{{Scenario: "first-light"}, {Scenario: "pulls", Problem: "a | b"},
				{Scenario: "accuracy", Figures: map[string]string{FigureExact: "7 of 9", FigureError: "9 of 9",
					FigureWorst: "60 ms", FigureMerged: "2 of 9", FigurePhases: "pull, volumes"}},
				{Scenario: "blame",
					Figures: map[string]string{FigureRight: "9 s", FigureNone: "1 %", FigureWrong: "0 s"}}}},
		{Stack: "a"},
	} {
		if err := r.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	results, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	page := Page(results, []stack.Stack{
		{Name: "a", Summary: "first"},
		{Name: "b", Summary: "second", Limits: []string{"It cannot do x."}, Lacks: []stack.Feature{stack.ImageVolumes}},
		{Name: "c", Summary: "third"},
	})
	for _, want := range []string{
		"| `b` | v1.30.14 | containerd 1.7.35 | 2026-01-02 | `v0.1.0` | not run | passed | **failed** | not " +
			"run | not run |",
		"- `b`: second.\n  It cannot do x.\n  Kubernetes features that this stack lacks: image-volumes.",
		"| `b` | 7 of 9 | 9 of 9 | 60 ms | 2 of 9 | `pull`, `volumes` |\n",
		"| `b` | 9 s | 1 % | 0 s |", "- `pulls` on `b`: a \\| b\n",
		"| `a` | not run | not run | not run | not run |", "These stacks have no result: `c`.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Index(page, "`a`") > strings.Index(page, "`b`") {
		t.Error("the stacks are not in order")
	}
}
