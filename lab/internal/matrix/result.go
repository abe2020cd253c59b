// Package matrix stores the results of the lab's scenarios on each stack. A stack is a combination of program versions
// and settings. The package generates the page docs/compatibility.md from the results.
package matrix

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Result contains the outcomes of the scenarios on one stack.
type Result struct {
	Stack      string    `json:"stack"`
	Kubernetes string    `json:"kubernetes"` // version of the kubelet
	Runtime    string    `json:"runtime"`    // name and version
	Agent      string    `json:"agent"`      // the agent's version, from `podlapse-agent version`
	TriedAt    time.Time `json:"tried_at"`
	Outcomes   []Outcome `json:"outcomes"`
}

// Outcome describes how one scenario ended.
type Outcome struct {
	Scenario string            `json:"scenario"`
	Problem  string            `json:"problem,omitempty"` // first line of the error; empty if the scenario passed
	Figures  map[string]string `json:"figures,omitempty"` // values for the page; a key is, for example, FigureExact
}

// Write writes the result to a file in the given directory. The file's name is the stack's name plus ".json".
func (r Result) Write(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the result of stack %q: %w", r.Stack, err)
	}
	if err := os.WriteFile(filepath.Join(dir, r.Stack+".json"), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the result of stack %q: %w", r.Stack, err)
	}
	return nil
}

// Read reads all results in a directory, and sorts the results by the names of the stacks.
func Read(dir string) ([]Result, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list the results of stacks: %w", err)
	}
	var results []Result
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the results of stacks: %w", err)
		}
		var r Result
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, fmt.Errorf("parse %s: %w", file, err)
		}
		results = append(results, r)
	}
	slices.SortFunc(results, func(a, b Result) int { return strings.Compare(a.Stack, b.Stack) })
	return results, nil
}

// outcome returns the outcome of a scenario, or false if the scenario did not run.
func (r Result) outcome(scenario string) (Outcome, bool) {
	i := slices.IndexFunc(r.Outcomes, func(o Outcome) bool { return o.Scenario == scenario })
	if i < 0 {
		return Outcome{}, false
	}
	return r.Outcomes[i], true
}
