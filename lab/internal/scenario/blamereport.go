package scenario

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/blame"
	"github.com/podlapse/podlapse/lab/internal/matrix"
)

// If the lab's logs do not show the true cause of a period, the blame exam does not judge this period. mostUnjudged is
// the largest allowed share of time that the exam does not judge. A larger share is a fault of the lab, not of the
// agent.
const mostUnjudged = 0.15

// report prints the results and adds problems to the verdict.
func (e *exam) report(ctx context.Context, v *Verdict) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	slices.SortFunc(e.results, func(a, b examResult) int { return slices.Compare(a.place[:], b.place[:]) })
	var sum blame.Score
	var text strings.Builder
	fmt.Fprintf(&text, "%-14s %-26s %8s %8s %8s %8s\n", "STAGE", "ROW", "RIGHT", "UNATTR", "WRONG", "UNJUDGED")
	compared, violations := 0, 0
	for _, r := range e.results {
		if r.failed != nil {
			v.Problem("row %s could not run: %v", r.name, r.failed)
			continue
		}
		v.Compared++
		sum.Add(r.score)
		compared, violations = compared+r.compared, violations+len(r.lengths)
		r.print(&text)
		for _, violation := range r.lengths {
			v.Problem("row %s: a true duration is outside the agent's error bound: %s", r.name, violation)
		}
		if r.score.Wrong > 0 {
			v.Problem("row %s: the agent reports a wrong cause for %s s, want 0", r.name, seconds(r.score.Wrong))
		}
	}
	fmt.Fprintln(&text)
	sum.Cells.Print(&text)
	share := func(part, of time.Duration) float64 { return part.Seconds() / max(of.Seconds(), 0.001) }
	unattributed, unjudged := share(sum.Unattributed, sum.Judged()), share(sum.Unjudged, sum.Judged()+sum.Unjudged)
	fmt.Fprintf(&text, "\nright %s s, unattributed %s s (%.1f %%), wrong %s s; not judged %s s (%.1f %% of all)\n",
		seconds(sum.Right), seconds(sum.Unattributed), 100*unattributed, seconds(sum.Wrong), seconds(sum.Unjudged),
		100*unjudged)
	v.Figure(matrix.FigureRight, "%.1f s", sum.Right.Seconds())
	v.Figure(matrix.FigureNone, "%.1f %%", 100*unattributed)
	v.Figure(matrix.FigureWrong, "%.3f s", sum.Wrong.Seconds())
	fmt.Fprintf(&text, "%d phases with a known duration were compared with the agent's error bound\n", compared)
	if limit := e.bench.Node.Stack.MaxUnattributed; unattributed > limit {
		v.Problem("%.1f %% of the judged time is unattributed, want at most %.0f %%", 100*unattributed, 100*limit)
	}
	if unjudged > mostUnjudged {
		v.Problem("%.1f %% of all time was not judged, want at most %.0f %%: the exam is not conclusive", 100*unjudged,
			100*mostUnjudged)
	}
	w, err := e.judgeWithoutEvents(ctx, sum, v)
	if err != nil {
		return err
	}
	fmt.Fprintf(&text, "\nwithout Events: right %s s, unattributed %s s, wrong %s s\n\n", seconds(w.score.Right),
		seconds(w.score.Unattributed), seconds(w.score.Wrong))
	fmt.Fprintf(&text, "%-20s %10s %10s %12s %12s\n", "PHASE", "WITH", "WITHOUT", "ERROR WITH", "ERROR WITHOUT")
	w.write(&text, "%-20s %10s %10s %12s %12s\n")
	v.Text = text.String()
	if path := os.Getenv(pageVariable); path != "" {
		return e.writePage(ctx, path, sum, w, compared, violations)
	}
	return nil
}

// print writes one line about the examRow. If a cause or a duration is wrong, or if much time is unattributed or not
// judged, the function also lists the reported causes and the true causes.
func (r examResult) print(out io.Writer) {
	fmt.Fprintf(out, "%-14s %-26s %8s %8s %8s %8s\n", r.stage, r.name, seconds(r.score.Right),
		seconds(r.score.Unattributed), seconds(r.score.Wrong), seconds(r.score.Unjudged))
	const shown = time.Second
	if r.score.Wrong == 0 && r.score.Unattributed < shown && r.score.Unjudged < 2*shown && len(r.lengths) == 0 {
		return
	}
	at := func(t time.Time) string { return seconds(t.Sub(r.timeline.CreatedAt)) }
	for _, t := range r.reported {
		if t.Length() < 10*time.Millisecond {
			continue
		}
		fmt.Fprintf(out, "    agent  %7s %7s ±%-6s %-14s %s %s %v\n", at(t.From), at(t.To), seconds(t.Error), t.Cause,
			t.Phase, t.Container, t.Merged)
	}
	for _, t := range r.truth {
		if t.Length() < 10*time.Millisecond {
			continue
		}
		fmt.Fprintf(out, "    truth  %7s %7s ±%-6s %-14s %s\n", at(t.From), at(t.To), seconds(t.Slack),
			strings.Join(t.Causes, "/"), t.Source)
	}
	for _, f := range r.score.Findings {
		fmt.Fprintf(out, "    WRONG  %s s: the agent reports %s instead of %s (phase %s)\n", seconds(f.Length),
			f.Reported.Cause, strings.Join(f.Stretch.Causes, "/"), f.Reported.Phase)
	}
}
