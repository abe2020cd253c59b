package timeline

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// print is the timeline as the scripts show it.
func (s *script) print(t testing.TB) string {
	e := s.evidence()
	tl, ok := e.Timeline(s.asOf, s.skew)
	if !ok {
		t.Fatal("no timeline")
	}
	checkPartition(t, tl)
	var out strings.Builder
	sec := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
	since := func(at time.Time) string {
		if at.IsZero() {
			return "?"
		}
		return sec(at.Sub(base))
	}
	fmt.Fprintf(&out, "%s total %s ±%s", tl.State, sec(tl.Total), sec(tl.TotalError))
	if tl.Reason != "" {
		out.WriteString(" " + tl.Reason)
	}
	if tl.Reconstructed {
		out.WriteString(" reconstructed")
	}
	out.WriteByte('\n')
	for _, p := range tl.Phases {
		fmt.Fprintf(&out, "%s %s-%s %s ±%s", p.Phase, since(p.StartAt), since(p.EndAt), sec(p.Duration()), sec(p.Error))
		if p.Container != "" {
			fmt.Fprintf(&out, " %s/%d", p.Container, p.Attempt)
		}
		if len(p.MergedWith) > 0 {
			fmt.Fprintf(&out, " with %v", p.MergedWith)
		}
		if p.Open {
			out.WriteString(" open")
		}
		fmt.Fprintf(&out, " %v\n", p.Sources)
	}
	for _, p := range tl.Pulls {
		fmt.Fprintf(&out, "pull %s/%d %s", p.Container, p.Attempt, p.Outcome)
		if p.Failure != "" {
			fmt.Fprintf(&out, " %s", p.Failure)
		}
		fmt.Fprintf(&out, " requested %s started %s", since(p.RequestedAt), since(p.StartedAt))
		if !p.DownloadedAt.IsZero() {
			_, _, busy := p.Unpacking()
			fmt.Fprintf(&out, " downloaded %s %d bytes, unpacking %s", since(p.DownloadedAt), p.Bytes(), sec(busy))
		}
		fmt.Fprintf(&out, " finished %s", since(p.FinishedAt))
		if p.QueueTimed {
			fmt.Fprintf(&out, " queue %s", sec(p.Queue))
		}
		if p.Timed {
			fmt.Fprintf(&out, " pull %s ±%s", sec(p.Pull), sec(p.Error))
		}
		out.WriteByte('\n')
	}
	for _, c := range tl.Conflicts {
		fmt.Fprintf(&out, "conflict %s %s: %s\n", c.Mark, c.Container, c.Detail)
	}
	if len(tl.Missing) > 0 {
		fmt.Fprintf(&out, "missing %v\n", tl.Missing)
	}
	if len(tl.LostEvents) > 0 {
		fmt.Fprintf(&out, "lost %v\n", tl.LostEvents)
	}
	w := e.Wants(s.asOf)
	fmt.Fprintf(&out, "wants runtime=%v images=%v events=%v settled=%v", w.Runtime, w.Images, w.Events, e.Settled(s.asOf))
	if len(w.Layers) > 0 {
		fmt.Fprintf(&out, " layers=%v", w.Layers)
	}
	out.WriteByte('\n')
	return out.String()
}

// checkPartition holds for every timeline: phases touch end to end and add up to the total.
func checkPartition(t testing.TB, tl Timeline) {
	t.Helper()
	at, sum := tl.CreatedAt, time.Duration(0)
	for _, p := range tl.Phases {
		if !p.StartAt.Equal(at) || p.Duration() < 0 {
			t.Errorf("%s from %s to %s does not follow %s", p.Phase, p.StartAt, p.EndAt, at)
		}
		if p.Error < 0 || p.Cause == "" {
			t.Errorf("%s has error %s and cause %q", p.Phase, p.Error, p.Cause)
		}
		at, sum = p.EndAt, sum+p.Duration()
	}
	for _, p := range tl.Pulls {
		if quiet := p.Outcome == imagepull.OutcomeVerified || p.Outcome == imagepull.OutcomeJoined; quiet && p.Bytes() > 0 {
			t.Errorf("pull %s/%d: %s brought %d bytes", p.Container, p.Attempt, p.Outcome, p.Bytes())
		}
		if p.Queue < 0 || p.Pull < 0 || p.Error < 0 {
			t.Errorf("pull %s/%d: queue %s, pull %s ±%s", p.Container, p.Attempt, p.Queue, p.Pull, p.Error)
		}
	}
	if sum != tl.Total {
		t.Errorf("phases add up to %s, total is %s", sum, tl.Total)
	}
	if !tl.SettledAt.IsZero() && !at.Equal(tl.SettledAt) {
		t.Errorf("last phase ends at %s, settled at %s", at, tl.SettledAt)
	}
}
