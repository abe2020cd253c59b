package cli

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// topRow is one row in the output of `top -w`. The row shows a start-up, and the progress of the image pull for which
// this start-up waits.
type topRow struct {
	api.Record
	progress string // empty if no pull is in progress
}

// starting reports whether the start-up is in progress.
func (r topRow) starting() bool { return r.State == timeline.StateStarting }

// open returns the current phase. For a completed start-up, the result is empty.
func (r topRow) open() api.PhaseRecord {
	phase, _ := render.OpenPhase(r.Record)
	return phase
}

// topOrders returns the values of --sort-by for the command top.
func topOrders() []order[api.Record] {
	longestInPhase := order[api.Record]{"for", bySize(func(r api.Record) api.Seconds {
		phase, _ := render.OpenPhase(r)
		return phase.Length
	})}
	return slices.Insert(startUpOrders(), 1, longestInPhase)
}

// topRows returns a view, which describes how the command prints the list of `top -w`. Without -w, the command `top`
// prints one table for start-ups in progress and another table for completed start-ups. With -w, one list contains all
// start-ups, so the view has the columns of both tables.
func topRows(nodes bool, now func() time.Time) view[topRow] {
	list := startUps(nodes, "", now)
	// If "starting" is true, the column has values only in rows of start-ups in progress. If "starting" is false, the
	// column has values only in rows of completed start-ups. The cells in other rows contain "-".
	only := func(starting bool, cell func(topRow) string) func(topRow) string {
		return func(r topRow) string {
			if r.starting() != starting {
				return "-"
			}
			return cmp.Or(cell(r), "-")
		}
	}
	total := func(r topRow) string { return render.LengthText(r.Total.Duration()) }
	causeStyle := func(r topRow) terminal.Style { return render.CauseStyle(r.open().Cause) }
	columns := []column[topRow]{
		{title: "NODE", shorten: terminal.ClipMiddle, optional: true,
			cell: func(r topRow) string { return nodeOf(r.Record) }},
		{title: "POD", shorten: terminal.ClipStart, cell: func(r topRow) string { return podOf(r.Record) }},
		{title: "STATE", cell: func(r topRow) string { return stateText(r.Record) },
			style: func(r topRow) terminal.Style { return stateStyle(r.Record) }},
		{title: "AGE", right: true, optional: true, cell: only(true, total)},
		{title: "PHASE", shorten: terminal.Clip, style: causeStyle,
			cell: only(true, func(r topRow) string { return terminal.Clean(string(r.open().Phase)) })},
		{title: "FOR", right: true,
			cell: only(true, func(r topRow) string { return render.LengthText(r.open().Length.Duration()) })},
		{title: "CAUSE", shorten: terminal.Clip, optional: true, style: causeStyle,
			cell: only(true, func(r topRow) string { return terminal.Clean(string(r.open().Cause)) })},
		{title: "WHERE", shorten: terminal.Clip, optional: true, cell: only(true, func(r topRow) string {
			return render.WhereText(r.open().Container, r.open().Attempt, r.progress, render.ReasonText(r.Record))
		})},
		{title: "TOOK", right: true, cell: only(false, total)},
		{title: "VERDICT", shorten: terminal.Clip, optional: true,
			cell: only(false, func(r topRow) string { return terminal.Clean(r.Verdict) })},
		{title: "ACCURACY", wide: true, right: true,
			cell: func(r topRow) string { return render.AccuracyText(r.TotalError.Duration()) }},
		{title: "OWNER", wide: true, shorten: terminal.Clip, cell: func(r topRow) string { return ownerOf(r.Record) }},
	}
	if !nodes {
		columns = columns[1:]
	}
	v := view[topRow]{
		columns: columns,
		id:      func(r topRow) string { return list.id(r.Record) },
		state:   func(r topRow) string { return list.state(r.Record) },
	}
	for _, o := range topOrders() {
		v.orders = append(v.orders, order[topRow]{o.name,
			func(x, y topRow) int { return o.compare(x.Record, y.Record) }})
	}
	return v
}

// topRows queries the agents for start-ups and for pulls in progress.
func (a agentQuery) topRows(ctx context.Context, c topConfig) ([]topRow, []error, error) {
	responses, failed, err := ofAgents(ctx, a, c.snapshotOf(a.Now()))
	if err != nil {
		return nil, nil, err
	}
	var rows []topRow
	for _, response := range responses {
		type puller struct{ namespace, pod, container string }
		progress := map[puller]string{}
		for _, p := range response.Value.pulls {
			progress[puller{p.Namespace, p.Pod, p.Container}] = render.LivePullFromText(p)
		}
		for _, record := range response.Value.records {
			row := topRow{Record: record}
			row.progress = progress[puller{record.Namespace, record.Name, row.open().Container}]
			rows = append(rows, row)
		}
	}
	rows, failed = cutList(rows, failed)
	return rows, failed, nil
}
