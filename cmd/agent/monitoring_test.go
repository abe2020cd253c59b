package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestRulesKnowThePhases holds the tables of phases in the Prometheus rules against the core's: who each is charged to,
// and that each has a limit for how long it may take.
func TestRulesKnowThePhases(t *testing.T) {
	rules, err := os.ReadFile("../../manifests/monitoring/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rows := func(record, labels string) (found []string) {
		row := regexp.MustCompile(`\{record: "` + record + `", expr: vector\(\d+\), labels: \{` + labels + `\}\}`)
		for _, m := range row.FindAllSubmatch(rules, -1) {
			found = append(found, string(m[1]))
		}
		return found
	}
	var phases, causes []string
	for _, phase := range timeline.Phases() {
		phases = append(phases, string(phase))
		causes = append(causes, fmt.Sprintf("phase: %s, cause: %s", phase, timeline.CauseOf(phase)))
	}
	if got := rows("podlapse:phase_cause:info", `(phase: \w+, cause: \w+)`); !slices.Equal(got, causes) {
		t.Errorf("causes in the rules:\n%q\nwant\n%q", got, causes)
	}
	if got := rows("podlapse:phase_stuck:seconds", `phase: (\w+)`); !slices.Equal(got, phases) {
		t.Errorf("limits in the rules for %q, want %q", got, phases)
	}
}
