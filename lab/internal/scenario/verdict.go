package scenario

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
)

// Row compares one duration of the agent with the truth.
type Row struct {
	What     string
	Injected time.Duration // injected duration, rounded for readers
	Truth    time.Duration // true duration from an independent source, or Injected if no such source exists
	Measured time.Duration // duration that the agent reports
	Missing  bool          // true if the agent reports no duration
	Limit    time.Duration // largest accepted difference between Measured and Truth
}

// Off returns the agent's value minus the truth. Off is negative if the agent's value is too small.
func (r Row) Off() time.Duration { return r.Measured - r.Truth }

// OK returns true if the agent reports a value, and the value differs from the truth by at most Limit.
func (r Row) OK() bool { return !r.Missing && r.Off().Abs() <= r.Limit }

// Verdict collects the results of a scenario.
type Verdict struct {
	Rows     []Row
	Compared int               // number of comparisons without a row in Rows
	Problems []string          // all errors that do not belong to a row
	Notes    []string          // additional information for readers
	Text     string            // tables of the scenario, printed first
	Figures  map[string]string // values for docs/compatibility.md, by the names in package matrix
}

// Figure adds a value for docs/compatibility.md.
func (v *Verdict) Figure(name, format string, arguments ...any) {
	if v.Figures == nil {
		v.Figures = map[string]string{}
	}
	v.Figures[name] = fmt.Sprintf(format, arguments...)
}

// Compare adds a row. The argument "there" is false if the agent's API does not contain the measured value.
func (v *Verdict) Compare(what string, injected, truth, measured time.Duration, there bool, limit time.Duration) {
	v.Rows = append(v.Rows, Row{What: what, Injected: injected, Truth: truth, Measured: measured, Missing: !there,
		Limit: limit})
}

// Phase compares the duration of a phase in a timeline with the truth.
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

// Problem adds an error.
func (v *Verdict) Problem(format string, arguments ...any) {
	v.Problems = append(v.Problems, fmt.Sprintf(format, arguments...))
}

// Note adds additional information.
func (v *Verdict) Note(format string, arguments ...any) {
	v.Notes = append(v.Notes, fmt.Sprintf(format, arguments...))
}

// Contract requires that the pod is ready, and that its timeline has the documented form. Contract does not check the
// timeline's values against the truth.
func (v *Verdict) Contract(timeline agent.Timeline) { v.ContractOf(timeline, agent.Ready) }

// ContractOf is like Contract, but the start-up is allowed to end in any of the given states.
func (v *Verdict) ContractOf(timeline agent.Timeline, states ...string) {
	if !slices.Contains(states, timeline.State) {
		v.Problem("pod %s must be %s, but the agent reports %s", timeline.Name, strings.Join(states, " or "),
			timeline.State)
	}
	for _, problem := range timeline.Problems() {
		v.Problem("pod %s: %s", timeline.Name, problem)
	}
}

// Include adds the results for one of several agents. Each added row, problem and note starts with the agent's name.
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
		v.Problem("%s: no value was compared, want at least one", agent)
	}
}

// Failed returns true if the verdict contains an error, or if no value was compared.
func (v *Verdict) Failed() bool { return len(v.Wrong()) > 0 }

// Wrong returns a line for each error.
func (v *Verdict) Wrong() []string {
	var wrong []string
	for _, row := range v.Rows {
		switch {
		case row.Missing:
			wrong = append(wrong, fmt.Sprintf("%s: the agent reports no value, the truth is %s s", row.What,
				seconds(row.Truth)))
		case !row.OK():
			wrong = append(wrong,
				fmt.Sprintf("%s: the agent reports %s s, the truth is %s s, the largest allowed difference is %s s",
					row.What, seconds(row.Measured), seconds(row.Truth), seconds(row.Limit)))
		}
	}
	wrong = append(wrong, v.Problems...)
	if len(v.Rows)+v.Compared == 0 {
		wrong = append(wrong, "no value was compared, want at least one")
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
