package timeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestTerminationScripts folds each script in testdata/terminations and compares the termination with the part below
// "---". TestScripts describes the format.
func TestTerminationScripts(t *testing.T) {
	runScripts(t, "testdata/terminations/*.script", (*script).printTermination)
}

// terminationOf folds observations into the pod's termination. terminationOf returns nil without a deletion request.
func terminationOf(observations []Observation) (e *TerminationEvidence) {
	for _, o := range observations {
		if e == nil {
			e = NewTerminationEvidence(o)
		} else {
			e.Apply(o)
		}
	}
	return e
}

func (s *script) printTermination(t testing.TB) string {
	t.Helper()
	e := terminationOf(s.observations)
	if e == nil {
		return "no termination\n"
	}
	end := e.Termination(s.asOf, s.skew)
	checkEnd(t, end)
	var out strings.Builder
	out.WriteString(end.Verdict() + "\n")
	for _, p := range end.Phases {
		fmt.Fprintf(&out, "%s %s-%s %s ±%s", p.Phase, instantText(p.StartAt), instantText(p.EndAt),
			lengthText(p.Duration()), lengthText(p.Error))
		if p.Container != "" {
			out.WriteString(" " + p.Container)
		}
		if len(p.MergedWith) > 0 {
			fmt.Fprintf(&out, " with %v", p.MergedWith)
		}
		if p.Open {
			out.WriteString(" open")
		}
		fmt.Fprintf(&out, " %s %v\n", p.Cause, p.Sources)
	}
	for _, c := range end.Stops {
		fmt.Fprintf(&out, "stop %s %s at %s", c.Container, c.How, instantText(c.StoppedAt))
		if c.Exited {
			fmt.Fprintf(&out, " exit %d signal %d", c.ExitCode, c.Signal)
		}
		if c.Reason != "" {
			out.WriteString(" " + c.Reason)
		}
		if c.Timed {
			fmt.Fprintf(&out, " used %s ±%s", lengthText(c.Used), lengthText(c.Error))
		}
		fmt.Fprintf(&out, " %v\n", c.Sources)
	}
	for _, c := range end.Conflicts {
		fmt.Fprintf(&out, "conflict %s %s: %s\n", c.Milestone, c.Container, c.Detail)
	}
	if len(end.Missing) > 0 {
		fmt.Fprintf(&out, "missing %v\n", end.Missing)
	}
	fmt.Fprintf(&out, "ask every %s\n", e.QueryInterval(s.asOf))
	return out.String()
}

// checkEnd checks the properties of every termination.
func checkEnd(t testing.TB, end Termination) {
	t.Helper()
	stopKinds := []StopKind{StopBefore, StopExited, StopSignalled, StopKilled, StopKilledEarly, StopOutOfMemory,
		StopUnknown, StopRunning}
	checkSpans(t, end.Phases, end.RequestedAt, end.GoneAt, end.Total)
	for _, p := range end.Phases {
		if terminationCauses[p.Phase] == "" && p.Phase != PhaseUnattributed {
			t.Errorf("%s is not a phase of a termination", p.Phase)
		}
	}
	if end.Total < 0 || end.TotalError < 0 {
		t.Errorf("total %s ±%s", end.Total, end.TotalError)
	}
	for _, s := range end.Stops {
		if !slices.Contains(stopKinds, s.How) || s.Used < 0 || s.Error < 0 || s.Timed && s.StoppedAt.IsZero() {
			t.Errorf("stop %+v", s)
		}
	}
}
