package top

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxTroubles limits the number of unreachable agents that the board lists with their errors.
const maxTroubles = 3

// leastShown is the number of rows that View reserves for completed start-ups. Without these rows, the start-ups in
// progress could fill the whole screen.
const leastShown = 5

// View returns the lines of the board. The argument "now" is the current time on the machine that runs the command
// `top`. The argument "lines" is the maximum number of lines. If "lines" is 0, View returns all lines.
func (b *Board) View(now time.Time, page terminal.Page, lines int) []string {
	var starting, over []row
	for _, r := range b.rows() {
		if r.starting() {
			starting = append(starting, r)
		} else if now.Sub(r.settledAt) <= b.since {
			over = append(over, r)
		}
	}
	slices.SortFunc(starting, func(x, y row) int {
		return cmp.Or(b.compare(x, y, now), cmp.Compare(y.age(now), x.age(now)), x.compareName(y))
	})
	slices.SortFunc(over, func(x, y row) int {
		return cmp.Or(b.compare(x, y, now), y.settledAt.Compare(x.settledAt), x.compareName(y))
	})
	if b.layout.NoHeaders {
		return slices.Concat(b.startingTable(starting, now, page), b.completedTable(over, now, page))
	}

	text := []string{page.Paint(terminal.Bold, clipped(b.headline(len(starting), len(over)), page))}
	for _, trouble := range b.troubles() {
		text = append(text, page.Paint(terminal.Vermillion, clipped(trouble, page)))
	}
	moreStarting, moreOver := 0, 0
	if lines > 0 {
		// Six more lines are not rows of a table: two blank lines, two headings, and two lines that say how many rows
		// are omitted. If a table is empty, one or more lines of text replace its heading and the line about omitted
		// rows.
		room := lines - len(text) - 6
		if len(starting) == 0 {
			room -= max(0, len(b.startingTable(nil, now, page))-2)
		}
		room = max(0, room)
		shown := min(len(starting), max(room-min(len(over), leastShown), 0))
		moreStarting, starting = len(starting)-shown, starting[:shown]
		shown = min(len(over), max(room-len(starting), 0))
		moreOver, over = len(over)-shown, over[:shown]
	}
	text = append(text, "")
	text = append(text, b.startingTable(starting, now, page)...)
	text = appendMore(text, moreStarting, page)
	text = append(text, "")
	text = append(text, b.completedTable(over, now, page)...)
	text = appendMore(text, moreOver, page)
	if lines > 0 && len(text) > lines {
		text = text[:lines]
	}
	return text
}

// compare compares two rows by the column that --sort-by selects. Without --sort-by, compare returns 0.
func (b *Board) compare(x, y row, now time.Time) int {
	switch b.layout.SortBy {
	case "duration":
		return cmp.Or(cmp.Compare(x.lengthRank(now), y.lengthRank(now)), cmp.Compare(y.age(now), x.age(now)))
	case "for":
		if !x.starting() {
			return 0 // the table of completed start-ups has no column FOR
		}
		return cmp.Compare(y.grown(y.inPhase, now), x.grown(x.inPhase, now))
	case "phase":
		return cmp.Or(cmp.Compare(x.phase, y.phase), cmp.Compare(y.grown(y.inPhase, now), x.grown(x.inPhase, now)))
	case "cause":
		return cmp.Compare(x.cause, y.cause)
	case "accuracy":
		return cmp.Compare(y.accuracy, x.accuracy)
	case "age":
		return x.createdAt.Compare(y.createdAt)
	case "state":
		return cmp.Compare(x.state, y.state)
	case "owner":
		return cmp.Compare(x.owner, y.owner)
	case "node":
		return cmp.Compare(x.node, y.node)
	case "name":
		return cmp.Or(cmp.Compare(x.namespace, y.namespace), cmp.Compare(x.name, y.name))
	}
	return 0
}

// lengthRank returns 1 for a start-up of unknown length, and 0 for other start-ups.
func (r row) lengthRank(now time.Time) int {
	if render.LengthKnown(r.age(now), r.accuracy) {
		return 0
	}
	return 1
}

func (r row) compareName(other row) int {
	return cmp.Or(cmp.Compare(r.node, other.node), cmp.Compare(r.namespace, other.namespace),
		cmp.Compare(r.name, other.name))
}

func appendMore(text []string, more int, page terminal.Page) []string {
	if more == 0 {
		return text
	}
	return append(text, page.Paint(terminal.Dim, fmt.Sprintf("… and %d more", more)))
}

func clipped(text string, page terminal.Page) string {
	if !page.Fit {
		return text
	}
	return terminal.Clip(text, page.Columns)
}

// headline returns the line with the counts. The number of nodes includes the nodes of unreachable agents.
func (b *Board) headline(starting, over int) string {
	text := fmt.Sprintf("%d starting, %d started recently", starting, over)
	switch named := b.nodeNames(); {
	case len(named) != 1 || named[0] == "" && len(b.agents) > 1:
		text = fmt.Sprintf("%d nodes: ", len(b.agents)) + text
	case named[0] != "":
		text = "node " + named[0] + ": " + text
	}
	pulls, crowded := 0, false
	for _, a := range b.agents {
		pulls += b.pullsOf(a)
		crowded = crowded || a.crowded
	}
	if pulls > 0 {
		text += ", " + render.CountText(pulls, "pull") + " in progress"
	}
	if crowded {
		text += fmt.Sprintf("; more than %d are starting, not all are shown", maxStarting)
	}
	return text
}

// pullsOf counts the pulls in progress on an agent's node. If the agents report only selected pods, pullsOf counts only
// the pulls of these pods.
func (b *Board) pullsOf(a *agentData) int {
	if !b.layout.Selected {
		return len(a.pulls)
	}
	pods := map[puller]bool{}
	for _, r := range a.rows {
		pods[puller{namespace: r.namespace, pod: r.name}] = true
	}
	n := 0
	for p := range a.pulls {
		if pods[puller{namespace: p.namespace, pod: p.pod}] {
			n++
		}
	}
	return n
}

// nodeNames returns the names of the agents' nodes. All unknown names appear as one empty name. With --server, the name
// of the node is unknown until the agent reports a start-up.
func (b *Board) nodeNames() []string {
	names := map[string]bool{}
	for _, a := range b.agents {
		names[a.node] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func (b *Board) troubles() []string {
	var troubles []string
	for _, name := range slices.Sorted(maps.Keys(b.agents)) {
		if a := b.agents[name]; a.trouble != "" {
			troubles = append(troubles, "no data from "+cmp.Or(a.node, terminal.Clean(name))+": "+a.trouble)
		}
	}
	if more := len(troubles) - maxTroubles; more > 0 {
		troubles = append(troubles[:maxTroubles], fmt.Sprintf("no data from %d more nodes", more))
	}
	return troubles
}

func (b *Board) startingTable(rows []row, now time.Time, page terminal.Page) []string {
	if len(rows) == 0 {
		return b.emptyTable(page, append([]string{"no pods are starting on a node"}, b.unboundHint(page)...)...)
	}
	layout := terminal.Table{Columns: []terminal.Column{
		{Shorten: terminal.ClipMiddle, Optional: true}, {Shorten: terminal.ClipStart}, {Right: true, Optional: true},
		{Shorten: terminal.Clip}, {Right: true}, {Shorten: terminal.Clip, Optional: true},
		{Shorten: terminal.Clip, Optional: true},
	}}
	b.heading(&layout, "NODE", "STARTING", "AGE", "PHASE", "FOR", "CAUSE", "WHERE")
	progress := b.pullsByNode()
	for _, r := range rows {
		at := layout.Rows()
		b.add(&layout, r, r.node, r.namespace+"/"+r.name, render.LengthText(r.age(now)),
			cmp.Or(terminal.Clean(string(r.phase)), "-"), render.LengthText(r.grown(r.inPhase, now)),
			cmp.Or(terminal.Clean(string(r.cause)), "-"), r.whereText(progress, now))
		layout.Style(at, 3, render.CauseStyle(r.cause))
		layout.Style(at, 5, render.CauseStyle(r.cause))
	}
	return b.tableLines(layout, page)
}

// unboundHint returns a title and the kubectl command that lists pods without a node. If the title and the command do
// not fit on one line, the command begins on a new line. If the page is a screen, unboundHint also breaks a command
// that is longer than a line, because a screen cannot wrap lines.
func (b *Board) unboundHint(page terminal.Page) []string {
	const title = "pods without a node:"
	command := "kubectl get pods -A --field-selector=spec.nodeName="
	if b.layout.Namespace != "" {
		command = "kubectl get pods -n " + terminal.Clean(b.layout.Namespace) + " --field-selector=spec.nodeName="
	}
	if line := title + " " + command; !page.Fit || terminal.Cells(line) <= page.Columns {
		return []string{line}
	}
	if !page.Cut {
		return []string{title, command}
	}
	return append([]string{title}, strings.Split(terminal.Wrap(command, page.Columns), "\n")...)
}

// emptyTable returns the lines that the board shows instead of an empty table.
func (b *Board) emptyTable(page terminal.Page, text ...string) []string {
	if b.layout.NoHeaders {
		return nil
	}
	for i, line := range text {
		if page.Cut {
			line = clipped(line, page)
		}
		text[i] = page.Paint(terminal.Dim, line)
	}
	return text
}

// heading adds the row of column titles to a table, unless NoHeaders is true. With -o wide, heading first adds the
// extra columns.
func (b *Board) heading(layout *terminal.Table, titles ...string) {
	if b.layout.Wide {
		layout.Columns = append(layout.Columns, terminal.Column{Right: true, Optional: true},
			terminal.Column{Shorten: terminal.Clip, Optional: true})
		titles = append(titles, "ACCURACY", "OWNER")
	}
	if !b.layout.NoHeaders {
		layout.Add(titles...)
		layout.StyleRow(0, terminal.Dim)
	}
}

// add adds a row to a table. With -o wide, add also adds the cells of the extra columns.
func (b *Board) add(layout *terminal.Table, r row, cells ...string) {
	if b.layout.Wide {
		cells = append(cells, render.AccuracyText(r.accuracy), cmp.Or(r.owner, "-"))
	}
	layout.Add(cells...)
}

// pullsByNode returns the progress of each node's pulls.
func (b *Board) pullsByNode() map[string]map[puller]string {
	pulls := map[string]map[puller]string{}
	for _, a := range b.agents {
		if pulls[a.node] == nil {
			pulls[a.node] = map[puller]string{}
		}
		maps.Copy(pulls[a.node], a.pulls)
	}
	return pulls
}

// whereText returns the text of the column WHERE: the container, the progress of its pull, and the reason why the pod
// waits. For an unreachable agent, the text begins with the age of the data.
func (r row) whereText(pulls map[string]map[puller]string, now time.Time) string {
	var parts []string
	if !r.lostAt.IsZero() {
		parts = append(parts, "as of "+render.LengthText(now.Sub(r.lostAt))+" ago")
	}
	progress := pulls[r.node][puller{r.namespace, r.name, r.container}]
	if where := render.WhereText(r.container, r.attempt, progress, r.reason); where != "" {
		parts = append(parts, where)
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}

func (b *Board) completedTable(rows []row, now time.Time, page terminal.Page) []string {
	if len(rows) == 0 {
		return b.emptyTable(page, "no pods started recently")
	}
	layout := terminal.Table{Columns: []terminal.Column{
		{Shorten: terminal.ClipMiddle, Optional: true}, {Shorten: terminal.ClipStart}, {Shorten: terminal.Clip},
		{Right: true}, {Right: true, Optional: true}, {Shorten: terminal.Clip, Optional: true},
	}}
	b.heading(&layout, "NODE", "STARTED", "STATE", "TOOK", "AGO", "VERDICT")
	for _, r := range rows {
		at := layout.Rows()
		b.add(&layout, r, r.node, r.namespace+"/"+r.name, terminal.Clean(string(r.state)), render.LengthText(r.total),
			render.LengthText(now.Sub(r.settledAt)), r.verdict)
		style := terminal.Vermillion
		if r.state == timeline.StateReady || r.state == timeline.StateSucceeded {
			style = terminal.Green
		}
		layout.Style(at, 2, style)
	}
	return b.tableLines(layout, page)
}

// tableLines returns the lines of a table. If the board has only one agent, tableLines omits the node column.
func (b *Board) tableLines(layout terminal.Table, page terminal.Page) []string {
	if len(b.agents) == 1 {
		layout.Drop(0)
	}
	var out strings.Builder
	layout.Write(&out, page)
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}
