package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
)

// writeTermination draws the termination of a pod as a waterfall, and then a table with the stop of each container.
func writeTermination(out *strings.Builder, t api.TerminationRecord, page terminal.Page) {
	out.WriteString("\n" + page.Paint(terminal.Bold, page.Wrap(terminal.Clean(t.Verdict))) + "\n")
	out.WriteString("deletion requested " + t.RequestedAt.UTC().Format("2006-01-02 15:04:05.000 MST") + "\n\n")
	writePhases(out, "CONTAINER", t.Phases, t.RequestedAt.Time, t.Total.Duration(), page)
	if len(t.Containers) > 0 {
		out.WriteString("\n")
		writeStops(out, t.Containers, page)
	}
	writeDoubts(out, t.Conflicts, t.Missing, page)
}

func writeStops(out *strings.Builder, stops []api.StopRecord, page terminal.Page) {
	layout := terminal.Table{Columns: []terminal.Column{{Shorten: terminal.Clip}, {Shorten: terminal.Clip},
		{Right: true}, {Right: true}, {Shorten: terminal.Clip}}}
	layout.Add("STOPPED", "HOW", "GRACE USED", "ACCURACY", "EXIT")
	layout.StyleRow(0, terminal.Dim)
	for _, stop := range stops {
		used, bound, exit := "-", "-", "-"
		if stop.Used != nil && stop.Error != nil {
			used, bound = SecondsText(stop.Used.Duration()), AccuracyText(stop.Error.Duration())
		}
		if stop.ExitCode != nil {
			exit = strconv.Itoa(*stop.ExitCode)
		}
		if stop.Signal > 0 {
			exit += fmt.Sprintf(" (signal %d)", stop.Signal)
		}
		if stop.Reason != "" {
			exit += " " + terminal.Clean(stop.Reason)
		}
		layout.Add(terminal.Clean(stop.Container), terminal.Clean(string(stop.How)), used, bound, exit)
	}
	layout.Write(out, page)
}
