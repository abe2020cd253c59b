package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	rulesFile = "../../manifests/monitoring/rules.yaml"
	stuckRow  = `      - {record: "podlapse:phase_stuck:seconds", expr: vector(%d), ` +
		`labels: {phase: %s, concerns: %s}}` + "\n"
	causeRow = `      - {record: "podlapse:phase_cause:info", expr: vector(1), ` +
		`labels: {phase: %s, cause: %s}}` + "\n"
	stuckByDefault = 120 // limit in seconds for a phase that is not in the rules yet
)

var stuckRows = regexp.MustCompile(`"podlapse:phase_stuck:seconds", expr: vector\((\d+)\), labels: \{phase: (\w+),`)

// TestPhaseTables compares every file that lists the phases with the table in pkg/timeline. -update rewrites the
// lists.
func TestPhaseTables(t *testing.T) {
	hold(
		t,
		"../../docs/openapi.json",
		regexp.MustCompile(
			`(?s)"description": "Start-ups that spent time[^"]*",.*?"enum": \[\n(.*?) +\]`,
		),
		phaseEnum(),
	)
	hold(t, rulesFile, regexp.MustCompile(`(?m)((?:^ +- \{record: "podlapse:phase_cause:info".*\n)+)`), causeRows())
	limits := stuckLimits(t)
	hold(t, rulesFile, regexp.MustCompile(`(?m)((?:^ +- \{record: "podlapse:phase_stuck:seconds".*\n)+)`),
		limitRows(limits))
	hold(t, "../../docs/runbooks/PodlapsePodsStuckInPhase.md",
		regexp.MustCompile(`(?m)^\| phase \| limit \|\n.*\n((?:^\|.*\n)+)`), limitTable(limits))
}

// hold finds the text that the pattern's group matches in a file, and compares this text with the wanted text. With
// -update, hold writes the wanted text to the file.
func hold(t *testing.T, path string, pattern *regexp.Regexp, want string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	m := pattern.FindSubmatchIndex(text)
	if m == nil {
		t.Fatalf("%s has no text that matches %s", path, pattern)
	}
	from, to := m[len(m)-2], m[len(m)-1]
	if string(text[from:to]) == want {
		return
	}
	if !*update {
		t.Errorf("%s differs from the program: go test ./cmd/agent -run %s -update, then for manifests "+
			"go test ./internal/manifests -update in lab/", path, t.Name())
		return
	}
	if err := os.WriteFile(path, slices.Concat(text[:from], []byte(want), text[to:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// phaseEnum returns the list of phases in the OpenAPI document.
func phaseEnum() string {
	var text strings.Builder
	for i, phase := range timeline.Phases() {
		if i > 0 {
			text.WriteString(",\n")
		}
		fmt.Fprintf(&text, "              %q", phase)
	}
	text.WriteByte('\n')
	return text.String()
}

// causeRows returns the Prometheus rules that map each phase to its cause.
func causeRows() string {
	var text strings.Builder
	for _, phase := range timeline.Phases() {
		fmt.Fprintf(&text, causeRow, phase, timeline.CauseOf(phase))
	}
	return text.String()
}

// stuckLimits reads the limits in the rules: the maximum time in seconds that a pod should be in each phase.
func stuckLimits(t *testing.T) map[timeline.Phase]int {
	t.Helper()
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[timeline.Phase]int{}
	for _, m := range stuckRows.FindAllSubmatch(rules, -1) {
		limits[timeline.Phase(m[2])], _ = strconv.Atoi(string(m[1]))
	}
	return limits
}

// limitRows returns the Prometheus rules with the limit of each phase. A new phase gets the limit stuckByDefault.
func limitRows(limits map[timeline.Phase]int) string {
	var text strings.Builder
	for _, phase := range timeline.Phases() {
		if limits[phase] == 0 {
			limits[phase] = stuckByDefault
		}
		fmt.Fprintf(&text, stuckRow, limits[phase], phase, responsibleTeam(phase))
	}
	return text.String()
}

// responsibleTeam returns the team that must act if a pod is stuck in a phase. If the pod's specification or processes
// cause the phase, this team is the owner of the workload. Otherwise, this team runs the platform.
func responsibleTeam(phase timeline.Phase) string {
	switch timeline.CauseOf(phase) {
	case timeline.CauseApp, timeline.CauseBackoff, timeline.CauseConfig, timeline.CauseGate, timeline.CausePlacement:
		return "workload"
	}
	return "platform"
}

// limitTable returns the runbook's table of limits. The table begins with PhaseKubeletPickup, because the agent sees a
// pod only after the binding to the node.
func limitTable(limits map[timeline.Phase]int) string {
	phases := timeline.Phases()
	phases = phases[slices.Index(phases, timeline.PhaseKubeletPickup):]
	with := map[int][]string{}
	for _, phase := range phases {
		with[limits[phase]] = append(with[limits[phase]], "`"+string(phase)+"`")
	}
	var text strings.Builder
	for _, limit := range slices.Sorted(maps.Keys(with)) {
		fmt.Fprintf(&text, "| %s | %d min |\n", strings.Join(with[limit], ", "), limit/60)
	}
	return text.String()
}
