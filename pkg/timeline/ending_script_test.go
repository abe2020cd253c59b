package timeline

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestEndingScripts folds each script in testdata/endings, in the words of TestScripts, and compares the termination with the
// part below "---".
func TestEndingScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/endings/*.script")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".script"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			input, want, _ := bytes.Cut(data, []byte("---\n"))
			got := parseScript(t, input).printEnding(t)
			if *update {
				if err := os.WriteFile(path, slices.Concat(input, []byte("---\n"), []byte(got)), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("termination:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// ending is what the observations say of the pod's end; nil if nobody asked to delete it.
func (s *script) ending() (e *Ending) {
	for _, o := range s.observations {
		if seen, ok := o.(PodSeen); e == nil && ok {
			e = NewEnding(seen)
		} else if e != nil {
			e.Apply(o)
		}
	}
	return e
}

func (s *script) printEnding(t testing.TB) string {
	t.Helper()
	e := s.ending()
	if e == nil {
		return "no termination\n"
	}
	end := e.Termination(s.asOf, s.skew)
	checkEndPartition(t, end)
	var out strings.Builder
	sec := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
	since := func(at time.Time) string {
		if at.IsZero() {
			return "?"
		}
		return sec(at.Sub(base))
	}
	out.WriteString(end.Verdict() + "\n")
	for _, p := range end.Phases {
		fmt.Fprintf(&out, "%s %s-%s %s ±%s", p.Phase, since(p.StartAt), since(p.EndAt), sec(p.Duration()), sec(p.Error))
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
		fmt.Fprintf(&out, "stop %s %s at %s", c.Container, c.How, since(c.StoppedAt))
		if c.Exited {
			fmt.Fprintf(&out, " exit %d signal %d", c.ExitCode, c.Signal)
		}
		if c.Reason != "" {
			out.WriteString(" " + c.Reason)
		}
		if c.Timed {
			fmt.Fprintf(&out, " used %s ±%s", sec(c.Used), sec(c.Error))
		}
		fmt.Fprintf(&out, " %v\n", c.Sources)
	}
	for _, c := range end.Conflicts {
		fmt.Fprintf(&out, "conflict %s %s: %s\n", c.Mark, c.Container, c.Detail)
	}
	if len(end.Missing) > 0 {
		fmt.Fprintf(&out, "missing %v\n", end.Missing)
	}
	fmt.Fprintf(&out, "ask every %s\n", e.AskEvery(s.asOf))
	return out.String()
}

// checkEndPartition holds for every termination: phases touch end to end, add up to the total, and are charged.
func checkEndPartition(t testing.TB, end Termination) {
	t.Helper()
	at, sum := end.RequestedAt, time.Duration(0)
	for _, p := range end.Phases {
		if !p.StartAt.Equal(at) || p.Duration() < 0 {
			t.Errorf("%s from %s to %s does not follow %s", p.Phase, p.StartAt, p.EndAt, at)
		}
		if p.Error < 0 || p.Cause == "" || !slices.Contains(EndPhases(), p.Phase) {
			t.Errorf("%s has error %s and cause %q", p.Phase, p.Error, p.Cause)
		}
		at, sum = p.EndAt, sum+p.Duration()
	}
	if sum != end.Total || end.Total < 0 || end.TotalError < 0 {
		t.Errorf("phases add up to %s, total is %s ±%s", sum, end.Total, end.TotalError)
	}
	if !end.GoneAt.IsZero() && !at.Equal(end.GoneAt) {
		t.Errorf("last phase ends at %s, gone at %s", at, end.GoneAt)
	}
	for _, s := range end.Stops {
		if !slices.Contains(Hows(), s.How) || s.Used < 0 || s.Error < 0 || s.Timed && s.StoppedAt.IsZero() {
			t.Errorf("stop %+v", s)
		}
	}
}
