package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Workload draws the summary of a workload's start-ups. The text contains the number and the durations of the
// start-ups, and a stacked bar with the mean time of each cause. The text also contains the differences between groups
// of start-ups. The caller must clean the argument "name" (terminal.Clean). The summary can come from untrusted
// records.
func Workload(name string, s api.WorkloadSummary, page terminal.Page) string {
	var out strings.Builder
	out.WriteString(page.Paragraph(terminal.Bold, name+": "+durationsText(s.Durations)))
	if others := notMeasuredText(s.StartUps); others != "" {
		out.WriteString(page.Paragraph("", "not included: "+others))
	}
	if s.Durations != nil {
		out.WriteString("\n")
		writeCauses(&out, s, page)
		writeGroups(&out, s, page)
	}
	if differences := Differences(s); len(differences) > 0 {
		out.WriteString("\nDIFFERENCES\n")
		for _, difference := range differences {
			out.WriteString(page.Paragraph("", difference))
		}
	}
	return out.String()
}

// WorkloadVerdict returns the durations of a workload's start-ups. The text also states how many start-ups these
// durations do not include.
func WorkloadVerdict(s api.WorkloadSummary) string {
	text := durationsText(s.Durations)
	if others := notMeasuredText(s.StartUps); others != "" {
		text += "; not included: " + others
	}
	return text
}

func durationsText(d *api.WorkloadDurations) string {
	if d == nil {
		return "no completed start-up with a known duration"
	}
	return fmt.Sprintf("%s, p50 %s, p90 %s, slowest %s; ±%s", CountText(d.StartUps, "start-up"), inSeconds(d.P50),
		inSeconds(d.P90), inSeconds(d.Slowest), inSeconds(max(d.P50Error, d.P90Error, d.SlowestError)))
}

// notMeasuredText states how many start-ups the durations do not include, and why.
func notMeasuredText(c api.WorkloadCounts) string {
	var parts []string
	for _, count := range []struct {
		n    int
		what string
	}{
		{c.InProgress, "in progress"}, {c.GivenUp, "given up"}, {c.Failed, "failed"},
		{c.Deleted, "deleted before the pod was ready"}, {c.Unknown, "of unknown duration"},
	} {
		if count.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count.n, count.what))
		}
	}
	return strings.Join(parts, ", ")
}

// fills contains the characters of the segments of a stacked bar. Each cause has its own character, so that a reader
// can distinguish the segments without colors.
const fills = "█▓▒░▚=/+:xo*#%~^-."

// writeCauses draws the mean time of each cause: one stacked bar, and a table that explains the bar.
func writeCauses(out *strings.Builder, s api.WorkloadSummary, page terminal.Page) {
	total := s.Durations.Mean.Duration()
	axis := axis{total: total, cells: max(page.Columns, minBar)}
	layout := terminal.Table{Columns: []terminal.Column{{}, {Shorten: terminal.Clip}, {Right: true},
		{Right: true, Optional: true}, {Right: true}}}
	layout.Add("", "MEAN BY CAUSE", "TIME", "ACCURACY", "SHARE")
	layout.StyleRow(0, terminal.Dim)
	var bar strings.Builder
	var from time.Duration
	patterns := strings.Split(fills, "")
	for i, cause := range s.Causes {
		fill, style := patterns[i%len(patterns)], CauseStyle(cause.Cause)
		to := from + cause.Mean.Duration()
		bar.WriteString(page.Paint(style,
			strings.Repeat(fill, max(axis.edge(time.Time{}.Add(to))-axis.edge(time.Time{}.Add(from)), 0))))
		from = to
		share := 100 * cause.Mean.Duration().Seconds() / total.Seconds()
		layout.Add(fill, terminal.Clean(string(cause.Cause)), SecondsText(cause.Mean.Duration()),
			AccuracyText(cause.Error.Duration()), fmt.Sprintf("%.0f %%", share))
		layout.Style(i+1, 0, style)
		layout.Style(i+1, 1, style)
	}
	layout.Add("", "total", SecondsText(total), AccuracyText(s.Durations.MeanError.Duration()), "100 %")
	out.WriteString(bar.String() + "\n")
	layout.Write(out, page)
}

// writeGroups writes a table with the durations of the groups that the function Differences compares.
func writeGroups(out *strings.Builder, s api.WorkloadSummary, page terminal.Page) {
	layout := terminal.Table{Columns: []terminal.Column{{Shorten: terminal.ClipMiddle}, {Right: true}, {Right: true},
		{Right: true, Optional: true}, {Right: true, Optional: true}, {Right: true}, {Right: true, Optional: true}}}
	layout.Add("START-UPS", "COUNT", "MEAN", "P50", "P90", "SLOWEST", "ACCURACY")
	layout.StyleRow(0, terminal.Dim)
	add := func(name string, d *api.WorkloadDurations) {
		if d == nil {
			layout.Add(name, "0", "-", "-", "-", "-", "-")
			return
		}
		layout.Add(name, fmt.Sprint(d.StartUps), inSeconds(d.Mean), inSeconds(d.P50), inSeconds(d.P90),
			inSeconds(d.Slowest), "±"+inSeconds(max(d.MeanError, d.P50Error, d.P90Error, d.SlowestError)))
	}
	if s.Images.Present != nil && s.Images.Pulled != nil {
		add("images on the node", s.Images.Present)
		add("pulled an image", s.Images.Pulled)
	}
	for _, node := range slowNodes(s.Nodes) {
		add("on node "+terminal.Clean(node.Name), &node.Durations)
	}
	if s.Comparison != nil {
		for _, name := range []string{s.Comparison.From, s.Comparison.To} {
			revision := revisionOf(s, name)
			add("revision "+RevisionText(revision), revision.Durations)
		}
	}
	if layout.Rows() > 1 {
		add("all", s.Durations)
		out.WriteString("\n")
		layout.Write(out, page)
	}
}

// maxSlowNodes is the maximum number of nodes that the text names.
const maxSlowNodes = 5

// slowNodes returns the nodes on which start-ups provably take longer than on the other nodes.
func slowNodes(nodes []api.WorkloadNode) []api.WorkloadNode {
	var slow []api.WorkloadNode
	for _, node := range nodes {
		if d := node.Difference; d.Verdict == api.MoreThanNoise && d.Seconds > 0 && len(slow) < maxSlowNodes {
			slow = append(slow, node)
		}
	}
	return slow
}

func revisionOf(s api.WorkloadSummary, name string) api.WorkloadRevision {
	for _, revision := range s.Revisions {
		if revision.Name == name {
			return revision
		}
	}
	return api.WorkloadRevision{Name: name}
}

// RevisionText returns the name of a revision, with its number if the number is known.
func RevisionText(r api.WorkloadRevision) string {
	name := terminal.Clean(r.Name)
	if r.Number > 0 {
		return fmt.Sprintf("%d (%s)", r.Number, name)
	}
	return name
}

// inSeconds formats a duration in seconds, to a tenth of a second.
func inSeconds(s api.Seconds) string { return timeline.SecondsText(s.Duration(), 1) }

// CountText returns a number with its noun, for example "1 start-up" or "2 start-ups".
func CountText(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
