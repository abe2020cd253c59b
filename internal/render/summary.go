package render

import (
	"strings"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
)

// longestPhase returns the longest phase. Among phases of equal length, longestPhase returns the first.
func longestPhase(record api.Record) (api.PhaseRecord, bool) {
	var longest api.PhaseRecord
	found := false
	for _, phase := range record.Phases {
		if !found || phase.Length > longest.Length {
			longest, found = phase, true
		}
	}
	return longest, found
}

func phaseText(phase api.PhaseRecord) string {
	text := terminal.Clean(string(phase.Phase))
	if phase.Container != "" {
		text += " of " + attemptText(phase.Container, phase.Attempt)
	}
	return text
}

// Summary lists records in their order, one line each. If the argument nodes is true, each line contains the node.
func Summary(records []api.Record, nodes bool, page terminal.Page) string {
	layout := terminal.Table{Columns: []terminal.Column{{Shorten: terminal.Clip}, {Shorten: terminal.ClipStart}, {},
		{Right: true}, {Right: true}, {Shorten: terminal.Clip}}}
	layout.Add("NODE", "POD", "STATE", "TOTAL", "ERROR", "LONGEST PHASE")
	layout.StyleRow(0, terminal.Dim)
	for _, record := range records {
		longest := "-"
		if phase, ok := longestPhase(record); ok {
			longest = phaseText(phase) + " " + secondsText(phase.Length.Duration())
		}
		state := terminal.Clean(string(record.State))
		if record.Reconstructed {
			state += " (reconstructed)"
		}
		if !record.GoneAt.IsZero() {
			state += " (gone)"
		}
		layout.Add(terminal.Clean(record.Node), terminal.Clean(record.Namespace+"/"+record.Name), state,
			secondsText(record.Total.Duration()), errorText(record.TotalError.Duration()), longest)
	}
	if !nodes {
		layout.DropFirst()
	}
	var out strings.Builder
	layout.Write(&out, page)
	return out.String()
}
