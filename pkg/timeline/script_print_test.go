package timeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// print returns a timeline as text in the format of the scripts.
func (s *script) print(t testing.TB) string {
	e := s.evidence()
	tl, ok := e.Timeline(s.asOf, s.skew)
	if !ok {
		t.Fatal("no timeline")
	}
	checkPartition(t, tl)
	var out strings.Builder
	if s.verdict {
		out.WriteString(tl.Verdict() + "\n")
	}
	fmt.Fprintf(&out, "%s total %s ±%s", tl.State, lengthText(tl.Total), lengthText(tl.TotalError))
	if tl.Reason != "" {
		out.WriteString(" " + tl.Reason)
	}
	if tl.Reconstructed {
		out.WriteString(" reconstructed")
	}
	out.WriteByte('\n')
	for _, p := range tl.Phases {
		fmt.Fprintf(&out, "%s %s-%s %s ±%s", p.Phase, instantText(p.StartAt), instantText(p.EndAt),
			lengthText(p.Duration()), lengthText(p.Error))
		if p.Container != "" {
			fmt.Fprintf(&out, " %s/%d", p.Container, p.Attempt)
		}
		if len(p.MergedWith) > 0 {
			fmt.Fprintf(&out, " with %v", p.MergedWith)
		}
		if p.Open {
			out.WriteString(" open")
		}
		if p.ImageLoading {
			out.WriteString(" loading")
		}
		fmt.Fprintf(&out, " %v\n", p.Sources)
	}
	for _, p := range tl.Pulls {
		i := slices.IndexFunc(e.pod.Containers, func(c Container) bool { return c.Name == p.Container })
		printPull(&out, p, e.pod.Containers[i].Image)
	}
	for _, c := range tl.Conflicts {
		fmt.Fprintf(&out, "conflict %s %s: %s\n", c.Milestone, c.Container, c.Detail)
	}
	if len(tl.Missing) > 0 {
		fmt.Fprintf(&out, "missing %v\n", tl.Missing)
	}
	if len(tl.Unreported) > 0 {
		fmt.Fprintf(&out, "unreported %v\n", tl.Unreported)
	}
	if len(tl.LostEvents) > 0 {
		fmt.Fprintf(&out, "lost %v", tl.LostEvents)
		if tl.Incomplete && len(tl.Missing) == 0 {
			out.WriteString(" incomplete")
		}
		out.WriteString("\n")
	}
	w := e.Requests(s.asOf)
	fmt.Fprintf(
		&out,
		"requests runtime=%v images=%v events=%v settled=%v",
		w.Runtime,
		w.Images,
		w.Events,
		e.Settled(s.asOf),
	)
	if len(w.Layers) > 0 {
		fmt.Fprintf(&out, " layers=%v", w.Layers)
	}
	out.WriteByte('\n')
	return out.String()
}

func printPull(out *strings.Builder, p Pull, latest string) {
	fmt.Fprintf(out, "pull %s/%d %s", p.Container, p.Attempt, p.Outcome)
	if p.Image != latest {
		fmt.Fprintf(out, " of %q at %s", p.Image, p.Registry)
	}
	if p.Failure != "" {
		fmt.Fprintf(out, " %s", p.Failure)
	}
	fmt.Fprintf(out, " requested %s started %s", instantText(p.RequestedAt), instantText(p.StartedAt))
	if !p.DownloadedAt.IsZero() {
		_, _, busy := p.Unpacking()
		fmt.Fprintf(out, " downloaded %s %d bytes, unpacking %s", instantText(p.DownloadedAt), p.Bytes(),
			lengthText(busy))
	}
	if p.Lazy {
		out.WriteString(" lazy")
	}
	if p.Resumed {
		out.WriteString(" resumed")
	}
	fmt.Fprintf(out, " finished %s", instantText(p.FinishedAt))
	if p.QueueTimed {
		fmt.Fprintf(out, " queue %s", lengthText(p.Queue))
	}
	if p.Timed {
		fmt.Fprintf(out, " pull %s ±%s", lengthText(p.Pull), lengthText(p.Error))
	}
	out.WriteByte('\n')
}

// lengthText returns a duration in seconds, in the format of the scripts. The function instantText returns the seconds
// since base.
func lengthText(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

func instantText(at time.Time) string {
	if at.IsZero() {
		return "?"
	}
	return lengthText(at.Sub(base))
}

// checkPartition checks the properties of every timeline.
func checkPartition(t testing.TB, tl Timeline) {
	t.Helper()
	checkSpans(t, tl.Phases, tl.CreatedAt, tl.SettledAt, tl.Total)
	for _, p := range tl.Pulls {
		if quiet := p.Outcome == imagepull.OutcomeVerified ||
			p.Outcome == imagepull.OutcomeJoined; quiet && p.Bytes() > 0 {
			t.Errorf("pull %s/%d: %s brought %d bytes", p.Container, p.Attempt, p.Outcome, p.Bytes())
		}
		if p.Queue < 0 || p.Pull < 0 || p.Error < 0 {
			t.Errorf("pull %s/%d: queue %s, pull %s ±%s", p.Container, p.Attempt, p.Queue, p.Pull, p.Error)
		}
	}
}

// checkSpans checks that phases have no gaps between the instants from and to. checkSpans also checks that phases add
// up to the total and have a cause.
func checkSpans(t testing.TB, phases []Span, from, to time.Time, total time.Duration) {
	t.Helper()
	at, sum := from, time.Duration(0)
	for _, p := range phases {
		if !p.StartAt.Equal(at) || p.Duration() < 0 {
			t.Errorf("%s from %s to %s does not follow %s", p.Phase, p.StartAt, p.EndAt, at)
		}
		if p.Error < 0 || p.Cause == "" {
			t.Errorf("%s has error bound %s and cause %q", p.Phase, p.Error, p.Cause)
		}
		at, sum = p.EndAt, sum+p.Duration()
	}
	if sum != total {
		t.Errorf("phases add up to %s, total is %s", sum, total)
	}
	if !to.IsZero() && !at.Equal(to) {
		t.Errorf("the last phase ends at %s, but the timeline ends at %s", at, to)
	}
}
