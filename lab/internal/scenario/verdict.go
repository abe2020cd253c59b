package scenario

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
)

// Row compares one number of the agent with the truth.
type Row struct {
	What     string
	Injected time.Duration // what the scenario injected, rounded for readers
	Truth    time.Duration // what really happened, if a witness dated it; otherwise Injected
	Measured time.Duration // what the agent reports
	Missing  bool          // the agent reports nothing
	Limit    time.Duration // how far Measured may be from Truth
}

// Off is how much the agent's value is too large; negative if it is too small.
func (r Row) Off() time.Duration { return r.Measured - r.Truth }

// OK reports whether the agent is right.
func (r Row) OK() bool { return !r.Missing && r.Off().Abs() <= r.Limit }

// Verdict collects the results of a scenario.
type Verdict struct {
	Rows     []Row
	Compared int      // numbers that were compared without a row
	Problems []string // everything wrong that is not a number
	Notes    []string // additional information for readers
	Text     string   // tables of the scenario, printed first
}

// Compare adds a row. The argument there is false if the agent's API has no such value.
func (v *Verdict) Compare(what string, injected, truth, measured time.Duration, there bool, limit time.Duration) {
	v.Rows = append(v.Rows, Row{What: what, Injected: injected, Truth: truth, Measured: measured, Missing: !there,
		Limit: limit})
}

// Phase compares a phase of a timeline.
func (v *Verdict) Phase(timeline agent.Timeline, phase, container string, injected, truth, limit time.Duration) {
	measured, there, err := timeline.In(phase, container)
	if err != nil {
		v.Problem("phase %s: %v", phase, err)
	}
	what := phase
	if container != "" {
		what += " " + container
	}
	v.Compare(what, injected, truth, measured, there, limit)
}

// Problem adds something wrong.
func (v *Verdict) Problem(format string, arguments ...any) {
	v.Problems = append(v.Problems, fmt.Sprintf(format, arguments...))
}

// Note adds additional information.
func (v *Verdict) Note(format string, arguments ...any) {
	v.Notes = append(v.Notes, fmt.Sprintf(format, arguments...))
}

// Contract adds everything wrong with the form of a ready pod's timeline, independent of its values.
func (v *Verdict) Contract(timeline agent.Timeline) { v.ContractOf(timeline, agent.Ready) }

// ContractOf is Contract for a pod whose start-up may end in other states.
func (v *Verdict) ContractOf(timeline agent.Timeline, states ...string) {
	if !slices.Contains(states, timeline.State) {
		v.Problem("pod %s is %s, but the agent reports %s", timeline.Name, strings.Join(states, " or "), timeline.State)
	}
	for _, problem := range timeline.Problems() {
		v.Problem("pod %s: %s", timeline.Name, problem)
	}
}

// Include adds the results for one of several agents, each of which is judged.
func (v *Verdict) Include(agent string, found *Verdict) {
	for _, row := range found.Rows {
		row.What = agent + ": " + row.What
		v.Rows = append(v.Rows, row)
	}
	v.Compared += found.Compared
	for _, problem := range found.Problems {
		v.Problem("%s: %s", agent, problem)
	}
	for _, note := range found.Notes {
		v.Note("%s: %s", agent, note)
	}
	if len(found.Rows)+found.Compared == 0 {
		v.Problem("%s: nothing was compared", agent)
	}
}

// Failed reports whether anything is wrong, or whether nothing was compared.
func (v *Verdict) Failed() bool { return len(v.Wrong()) > 0 }

// Wrong describes everything that is wrong, one line each.
func (v *Verdict) Wrong() []string {
	var wrong []string
	for _, row := range v.Rows {
		switch {
		case row.Missing:
			wrong = append(wrong, fmt.Sprintf("%s: no measurement, the truth is %s s", row.What, seconds(row.Truth)))
		case !row.OK():
			wrong = append(wrong,
				fmt.Sprintf("%s: measured %s s, the truth is %s s, the largest allowed difference is %s s",
					row.What, seconds(row.Measured), seconds(row.Truth), seconds(row.Limit)))
		}
	}
	wrong = append(wrong, v.Problems...)
	if len(v.Rows)+v.Compared == 0 {
		wrong = append(wrong, "nothing was compared")
	}
	return wrong
}

// Print writes the table, the problems and the notes.
func (v *Verdict) Print(out io.Writer) {
	fmt.Fprint(out, v.Text)
	width := 0
	for _, row := range v.Rows {
		width = max(width, len(row.What))
	}
	const columns = "%-*s  %9s  %9s  %9s  %8s  %6s  %s\n"
	if len(v.Rows) > 0 {
		fmt.Fprintf(out, columns, width, "SECONDS", "INJECTED", "TRUTH", "MEASURED", "OFF", "LIMIT", "")
	}
	for _, row := range v.Rows {
		word := "ok"
		if !row.OK() {
			word = "WRONG"
		}
		measured, off := seconds(row.Measured), fmt.Sprintf("%+.3f", row.Off().Seconds())
		if row.Missing {
			measured, off = "nothing", ""
		}
		fmt.Fprintf(out, columns, width, row.What, seconds(row.Injected), seconds(row.Truth), measured, off,
			seconds(row.Limit), word)
	}
	for _, problem := range v.Problems {
		fmt.Fprintf(out, "wrong: %s\n", problem)
	}
	for _, note := range v.Notes {
		fmt.Fprintf(out, "note: %s\n", note)
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
