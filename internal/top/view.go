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

// maxTroubles limits the number of unreachable agents whose reason is shown.
const maxTroubles = 3

// leastShown is the minimum number of rows of each table, if both have that many.
const leastShown = 5

// View shows the board at an instant of the reader's clock, in at most the given number of lines;
// if lines is 0, in as many as needed.
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
		return cmp.Or(cmp.Compare(y.age(now), x.age(now)), x.compareName(y))
	})
	slices.SortFunc(over, func(x, y row) int { return cmp.Or(y.settledAt.Compare(x.settledAt), x.compareName(y)) })

	text := []string{page.Paint(terminal.Bold, clipped(b.headline(len(starting), len(over)), page))}
	for _, trouble := range b.troubles() {
		text = append(text, page.Paint(terminal.Vermillion, clipped(trouble, page)))
	}
	moreStarting, moreOver := 0, 0
	if lines > 0 {
		// two blank lines, two headings, and two lines with the number of omitted rows
		room := max(0, lines-len(text)-6)
		shown := min(len(starting), max(room-min(len(over), leastShown), 0))
		moreStarting, starting = len(starting)-shown, starting[:shown]
		shown = min(len(over), max(room-len(starting), 0))
		moreOver, over = len(over)-shown, over[:shown]
	}
	text = append(text, "")
	text = append(text, b.startingTable(starting, now, page)...)
	text = appendMore(text, moreStarting, page)
	text = append(text, "")
	text = append(text, b.overTable(over, now, page)...)
	text = appendMore(text, moreOver, page)
	if lines > 0 && len(text) > lines {
		text = text[:lines]
	}
	return text
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

// headline shows the counts. They include nodes about which nothing is known; those are listed
// below.
func (b *Board) headline(starting, over int) string {
	text := fmt.Sprintf("%d starting, %d started recently", starting, over)
	if named := b.nodes(); len(named) == 1 {
		text = "node " + named[0] + ": " + text
	} else {
		text = fmt.Sprintf("%d nodes: ", len(b.agents)) + text
	}
	pulls, crowded := 0, false
	for _, a := range b.agents {
		pulls += len(a.pulls)
		crowded = crowded || a.crowded
	}
	if pulls > 0 {
		text += fmt.Sprintf(", %d pulls in progress", pulls)
	}
	if crowded {
		text += fmt.Sprintf("; more than %d are starting, not all are shown", maxStarting)
	}
	return text
}

// nodes returns the names of the agents' nodes, as far as known.
func (b *Board) nodes() []string {
	names := map[string]bool{}
	for _, a := range b.agents {
		names[cmp.Or(a.node, "?")] = true
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
		return []string{page.Paint(terminal.Dim, "no pods are starting")}
	}
	layout := terminal.Table{Columns: []terminal.Column{{Shorten: terminal.Clip}, {Shorten: terminal.ClipStart},
		{Right: true}, {Shorten: terminal.Clip}, {Right: true}, {Shorten: terminal.Clip}}}
	layout.Add("NODE", "STARTING", "AGE", "PHASE", "FOR", "WHERE")
	layout.StyleRow(0, terminal.Dim)
	for i, r := range rows {
		layout.Add(r.node, r.namespace+"/"+r.name, render.LengthText(r.age(now)),
			cmp.Or(terminal.Clean(string(r.phase)), "-"),
			render.LengthText(r.grown(r.inPhase, now)), b.where(r, now))
		layout.Style(i+1, 3, render.CauseStyle(r.cause))
	}
	return b.lines(layout, page)
}

// where returns where a start-up is stuck.
func (b *Board) where(r row, now time.Time) string {
	var parts []string
	if !r.lostAt.IsZero() {
		parts = append(parts, "as of "+render.LengthText(now.Sub(r.lostAt))+" ago")
	}
	if r.container != "" {
		container := r.container
		if r.attempt > 0 {
			container += fmt.Sprintf(" #%d", r.attempt+1)
		}
		parts = append(parts, container)
	}
	if p, ok := b.pullOf(r); ok {
		switch {
		case p.pulling && p.progress != "":
			parts = append(parts, p.progress+" from "+p.registry)
		case p.pulling:
			parts = append(parts, "from "+p.registry)
		default:
			parts = append(parts, "queued for "+p.registry)
		}
	}
	if r.reason != "" {
		parts = append(parts, r.reason)
	}
	if len(parts) == 0 {
		return terminal.Clean(string(r.cause))
	}
	return strings.Join(parts, ", ")
}

func (b *Board) pullOf(r row) (pull, bool) {
	for _, a := range b.agents {
		if a.node == r.node {
			if p, ok := a.pulls[puller{r.namespace, r.name, r.container}]; ok {
				return p, true
			}
		}
	}
	return pull{}, false
}

func (b *Board) overTable(rows []row, now time.Time, page terminal.Page) []string {
	if len(rows) == 0 {
		return []string{page.Paint(terminal.Dim, "no pods started recently")}
	}
	layout := terminal.Table{Columns: []terminal.Column{{Shorten: terminal.Clip}, {Shorten: terminal.ClipStart},
		{Shorten: terminal.Clip}, {Right: true}, {Right: true}, {Shorten: terminal.Clip}}}
	layout.Add("NODE", "STARTED", "STATE", "TOOK", "AGO", "VERDICT")
	layout.StyleRow(0, terminal.Dim)
	for i, r := range rows {
		layout.Add(r.node, r.namespace+"/"+r.name, terminal.Clean(string(r.state)), render.LengthText(r.total),
			render.LengthText(now.Sub(r.settledAt)), r.verdict)
		style := terminal.Vermillion
		if r.state == timeline.StateReady || r.state == timeline.StateSucceeded {
			style = terminal.Green
		}
		layout.Style(i+1, 2, style)
	}
	return b.lines(layout, page)
}

// lines omits the node column if there is only one node.
func (b *Board) lines(layout terminal.Table, page terminal.Page) []string {
	if len(b.agents) == 1 {
		layout.DropFirst()
	}
	var out strings.Builder
	layout.Write(&out, page)
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}
