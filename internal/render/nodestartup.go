package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// NodeStartUp draws the start-up of a node. The text contains the verdict, a table of the phases with bars on one time
// axis, the taints, and the start-ups of DaemonSet pods. The text also contains the reasons why the node was not ready,
// and the missing evidence. The record can be untrusted.
func NodeStartUp(record api.NodeStartUpRecord, page terminal.Page) string {
	var out strings.Builder
	verdict := "node " + terminal.Clean(record.Node) + ": " + terminal.Clean(record.Verdict)
	out.WriteString(page.Paragraph(terminal.Bold, verdict))
	const stamp = "2006-01-02 15:04:05 MST"
	origin := "booted " + record.BootedAt.UTC().Format(stamp)
	if record.ID != "" {
		origin += ", boot ID " + terminal.Clean(record.ID)
	}
	if record.Reconstructed {
		origin += "\nreconstructed: the agent started after this start-up"
	}
	out.WriteString(page.Wrap(origin) + "\n\n")
	phases := make([]api.PhaseRecord, 0, len(record.Phases))
	for _, phase := range record.Phases {
		name, of := nodePhaseNames(phase)
		phases = append(phases, api.PhaseRecord{
			Phase: timeline.Phase(name), Container: of, Cause: phase.Cause, StartAt: phase.StartAt, EndAt: phase.EndAt,
			Length: phase.Length, Error: phase.Error, Open: phase.Open,
		})
	}
	writePhases(&out, "OF", phases, record.BootedAt.Time, record.Total.Duration(), page)
	writeTaints(&out, record, page)
	writeDaemonSets(&out, record.DaemonSets, page)
	if len(record.NotReady) > 0 {
		out.WriteString("\nNOT READY BECAUSE\n")
	}
	for _, n := range record.NotReady {
		after := SecondsText(n.SeenAt.Sub(record.BootedAt.Time))
		reason := n.Message
		if n.Condition != "" {
			reason = n.Condition + ": " + n.Message
		}
		out.WriteString("  " + page.Wrap("seen after "+after+": "+terminal.Clean(reason)) + "\n")
	}
	if len(record.Missing) > 0 {
		out.WriteString("\nNO EVIDENCE FOR\n  " + page.Wrap(listed(record.Missing)) + "\n")
	}
	return out.String()
}

// nodePhaseNames returns the name of a phase and the object that the phase belongs to.
func nodePhaseNames(phase api.NodePhaseRecord) (name, of string) {
	name, of = phase.Phase, phase.Pod
	switch {
	case phase.Step != "":
		name = string(phase.Step)
	case phase.Taint != "":
		of = phase.Taint
	case phase.Owner != "":
		of = phase.Owner
	case len(phase.Candidates) > 0:
		of = strings.Join(phase.Candidates, " or ")
	}
	return name, of
}

func writeTaints(out *strings.Builder, record api.NodeStartUpRecord, page terminal.Page) {
	if len(record.Taints) == 0 {
		return
	}
	layout := terminal.Table{Columns: []terminal.Column{{Shorten: terminal.Clip}, {Right: true}, {Right: true},
		{Shorten: terminal.Clip}}}
	layout.Add("TAINT", "REMOVED AFTER", "EARLIEST", "OWNER")
	layout.StyleRow(0, terminal.Dim)
	after := func(at api.Instant) string {
		if at.IsZero() {
			return "-"
		}
		return SecondsText(max(0, at.Sub(record.BootedAt.Time)).Round(time.Millisecond))
	}
	for _, taint := range record.Taints {
		layout.Add(terminal.Clean(taint.Key), after(taint.RemovedAt), after(taint.Earliest),
			terminal.Clean(taint.Owner))
	}
	out.WriteString("\n")
	layout.Write(out, page)
}

func writeDaemonSets(out *strings.Builder, pods []api.DaemonSetPodRecord, page terminal.Page) {
	if len(pods) == 0 {
		return
	}
	layout := terminal.Table{Columns: []terminal.Column{{Shorten: terminal.Clip}, {}, {Right: true},
		{Right: true, Optional: true}, {}}}
	layout.Add("DAEMONSET POD", "STATE", "TIME", "ACCURACY", "")
	layout.StyleRow(0, terminal.Dim)
	for _, pod := range pods {
		note := ""
		if pod.Critical {
			note = "the node waited for this pod"
		}
		layout.Add(terminal.Clean(fmt.Sprintf("%s/%s", pod.Namespace, pod.Name)), terminal.Clean(string(pod.State)),
			SecondsText(pod.Total.Duration()), AccuracyText(pod.TotalError.Duration()), note)
	}
	out.WriteString("\n")
	layout.Write(out, page)
}

// WaitedDuringStartUp formats a text as a section of the output. The text describes how a pod waited while its node was
// starting. If the text is empty, the section is empty too.
func WaitedDuringStartUp(text string, page terminal.Page) string {
	if text == "" {
		return ""
	}
	lines := page.Wrap(terminal.Clean(text) + ".")
	return "\nSTART-UP OF THE NODE\n  " + strings.ReplaceAll(lines, "\n", "\n  ") + "\n"
}
