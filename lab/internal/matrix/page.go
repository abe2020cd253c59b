package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/lab/internal/stack"
)

// Scenarios returns the names of the scenarios that run on each stack, in the order in which they run.
func Scenarios() []string {
	return []string{"install", "first-light", "accuracy", "pulls", "lost-events", "restart", "blame"}
}

// The names of the figures on the page. A figure is a value that the scenario "accuracy" or "blame" reports. In the
// comments below, a phase is wrong by the difference between its reported duration and its true duration.
const (
	FigureExact  = "within 50 ms"           // accuracy: accurate phases: see accuracyHeading
	FigureError  = "within the error bound" // accuracy: phases within the error bound: see accuracyHeading
	FigureWorst  = "99th percentile"        // accuracy: 99 % of the phases are wrong by at most this time
	FigureMerged = "not separated"          // accuracy: phases that the agent reports only as parts of other phases
	FigurePhases = "merged phases"          // accuracy: names of the phases of FigureMerged; absent if there are none
	FigureRight  = "right"                  // blame: seconds with the right cause
	FigureNone   = "unattributed"           // blame: share of the judged time for which the agent reports no cause
	FigureWrong  = "wrong"                  // blame: seconds with a wrong cause
)

const introduction = `# Compatibility

A stack is a combination of program versions and settings. The lab starts a real node of each stack, and runs the same
scenarios on each node.
` + "`make matrix`" + ` writes this page. ` + "`make matrix STACK=containerd-1.7`" + ` runs the scenarios on one
stack only.
Each stack differs from the stack ` + "`current`" + ` in one program or in some settings. No stack combines an older
Kubernetes with an older containerd. CRI-O is not a stack: it was tried by hand on 2026-11-30.
[Tried versions](install.md#tried-versions) also lists the tests that do not use a stack, and what was not tested.

| stack | Kubernetes | runtime | tried | agent | install | first-light | pulls | lost-events | restart |
|---|---|---|---|---|---|---|---|---|---|
`

const accuracyHeading = `
## Accuracy

The scenario ` + "`accuracy`" + ` starts 20 pods with known delays. For each phase whose times come
from the node's clock, the scenario compares the reported duration with the true duration.

- **accurate**: phases whose duration differs from the truth by at most 50 ms. If tasks waited for a CPU or the disk,
  the scenario accepts their wait too, at most 150 ms. With ` + "`discard_unpacked_layers`" + `, merged pulls also
  count.
- **within the error bound**: phases whose true duration lies within the agent's error bound plus 50 ms. Merged phases
  also count.
- **99th percentile**: 99 % of the phases that are not merged differ from the truth by at most this time. Before
  Kubernetes 1.36, the late ends of post-start hooks cause the large differences.
- **merged**: phases that the agent reports, at least in part, only together with other phases.

| stack | accurate | within the error bound | 99th percentile | merged | merged phases |
|---|---|---|--:|---|---|
`

const blameHeading = `
## Causes

The scenario ` + "`blame`" + ` runs start-ups with known causes, and compares the reported cause of each second with the
actual cause.
[Accuracy](accuracy.md) explains the numbers, and shows the result of another run.

| stack | right | unattributed | wrong |
|---|--:|--:|--:|
`

// Page returns the text of the page docs/compatibility.md. The argument "stacks" contains all stacks. The page
// also lists the stacks that have no result.
func Page(results []Result, stacks []stack.Stack) string {
	var page strings.Builder
	page.WriteString(introduction)
	for _, r := range results {
		cells := []string{
			"`" + r.Stack + "`", r.Kubernetes, r.Runtime, r.TriedAt.Format("2006-01-02"), "`" + r.Agent + "`"}
		for _, name := range []string{"install", "first-light", "pulls", "lost-events", "restart"} {
			cells = append(cells, r.outcomeText(name))
		}
		row(&page, cells)
	}
	page.WriteString("\n")
	writeStacks(&page, results, stacks)
	page.WriteString(accuracyHeading)
	for _, r := range results {
		row(&page, slices.Concat([]string{"`" + r.Stack + "`"},
			r.figures("accuracy", FigureExact, FigureError, FigureWorst, FigureMerged), []string{r.mergedPhases()}))
	}
	page.WriteString(blameHeading)
	for _, r := range results {
		row(&page, slices.Concat([]string{"`" + r.Stack + "`"},
			r.figures("blame", FigureRight, FigureNone, FigureWrong)))
	}
	writeProblems(&page, results)
	return page.String()
}

// writeStacks describes the stacks, and lists the stacks that have no result.
func writeStacks(page *strings.Builder, results []Result, stacks []stack.Stack) {
	var missing []string
	for _, s := range stacks {
		if !slices.ContainsFunc(results, func(r Result) bool { return r.Stack == s.Name }) {
			missing = append(missing, "`"+s.Name+"`")
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(page, "These stacks have no result: %s.\n\n", strings.Join(missing, ", "))
	}
	for _, s := range stacks {
		fmt.Fprintf(page, "- `%s`: %s.\n", s.Name, s.Summary)
		for _, limit := range s.Limits {
			fmt.Fprintf(page, "  %s\n", limit)
		}
		if len(s.Lacks) > 0 {
			fmt.Fprintf(page, "  Kubernetes features that this stack lacks: %s.\n", joinFeatures(s.Lacks))
		}
	}
}

func joinFeatures(features []stack.Feature) string {
	var names []string
	for _, feature := range features {
		names = append(names, string(feature))
	}
	return strings.Join(names, ", ")
}

func row(page *strings.Builder, cells []string) {
	fmt.Fprintf(page, "| %s |\n", strings.Join(cells, " | "))
}

func (r Result) outcomeText(scenario string) string {
	switch o, ran := r.outcome(scenario); {
	case !ran:
		return "not run"
	case o.Problem != "":
		return "**failed**"
	}
	return "passed"
}

func (r Result) figures(scenario string, names ...string) []string {
	o, _ := r.outcome(scenario)
	var cells []string
	for _, name := range names {
		value := o.Figures[name]
		if value == "" {
			value = r.outcomeText(scenario)
		}
		cells = append(cells, value)
	}
	return cells
}

// mergedPhases returns the names of the phases that the agent did not separate from other phases.
func (r Result) mergedPhases() string {
	o, _ := r.outcome("accuracy")
	switch names := o.Figures[FigurePhases]; {
	case o.Figures[FigureMerged] == "":
		return r.outcomeText("accuracy")
	case names != "":
		return "`" + strings.ReplaceAll(names, ", ", "`, `") + "`"
	case strings.HasPrefix(o.Figures[FigureMerged], "0 "):
		return "none"
	}
	return "not recorded"
}

func writeProblems(page *strings.Builder, results []Result) {
	first := true
	for _, r := range results {
		for _, o := range r.Outcomes {
			if o.Problem == "" {
				continue
			}
			if first {
				page.WriteString("\n## Failures\n\n")
				first = false
			}
			fmt.Fprintf(page, "- `%s` on `%s`: %s\n", o.Scenario, r.Stack, strings.ReplaceAll(o.Problem, "|", "\\|"))
		}
	}
}
