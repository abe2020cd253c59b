package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
)

// NodePulls holds the pulls of one node. Node is empty if the command queries only one node.
type NodePulls struct {
	Node string `json:"node,omitempty"`
	api.PullList
}

// PullTables returns the pulls in progress, followed by the completed pulls. If the nodes have names, each row
// contains the node.
func PullTables(nodes []NodePulls, page terminal.Page) string {
	going := terminal.Table{Columns: []terminal.Column{
		{Shorten: terminal.Clip}, {Shorten: terminal.ClipStart}, {Shorten: terminal.Clip}, {Shorten: terminal.Clip},
		{Right: true}, {Right: true}, {Shorten: terminal.ClipStart},
	}}
	over := terminal.Table{Columns: []terminal.Column{
		{Shorten: terminal.Clip}, {Shorten: terminal.ClipStart}, {Shorten: terminal.Clip}, {Shorten: terminal.Clip},
		{Right: true}, {Right: true}, {Right: true},
		{Right: true},
		{Shorten: terminal.ClipStart},
	}}
	going.Add("NODE", "POD", "CONTAINER", "STATE", "AGE", "DONE", "IMAGE")
	over.Add("NODE", "POD", "CONTAINER", "OUTCOME", "QUEUE", "PULL", "ERROR", "SIZE", "IMAGE")
	going.StyleRow(0, terminal.Dim)
	over.StyleRow(0, terminal.Dim)
	named := false
	for _, node := range nodes {
		named = named || node.Node != ""
		for _, pull := range node.Items {
			row := going.Rows()
			going.Add(terminal.Clean(node.Node), podText(pull.Namespace, pull.Pod),
				terminal.Clean(cmp.Or(pull.Container, "-")), goingText(pull),
				LengthText(pull.Age.Duration()), cmp.Or(ProgressText(pull), "-"),
				terminal.Clean(cmp.Or(pull.Image, pull.Registry)))
			if !pull.Pulling() {
				going.Style(row, 3, terminal.Yellow)
			}
		}
		for _, pull := range node.Recent {
			row := over.Rows()
			outcome, queue, length, bound := pullTexts(pull.PullRecord)
			over.Add(terminal.Clean(node.Node), podText(pull.Namespace, pull.Pod),
				attemptText(pull.Container, pull.Attempt), outcome, queue, length,
				bound, sizeText(pull.SizeBytes), terminal.Clean(pull.Image))
			if pull.Outcome == imagepull.OutcomeFailed {
				over.Style(row, 3, terminal.Vermillion)
			}
		}
	}
	if !named {
		going.DropFirst()
		over.DropFirst()
	}
	var out strings.Builder
	if going.Rows() > 1 {
		going.Write(&out, page)
	} else {
		out.WriteString("no pulls in progress\n")
	}
	if over.Rows() > 1 {
		out.WriteString("\n")
		over.Write(&out, page)
	}
	return out.String()
}

func podText(namespace, name string) string {
	if name == "" {
		return "-" // no pod of the node requested the pull
	}
	return terminal.Clean(namespace + "/" + name)
}

func goingText(pull api.LivePullRecord) string {
	text := cmp.Or(terminal.Clean(pull.State), terminal.Clean(string(pull.Outcome)))
	if pull.Restart {
		text += ", restart"
	}
	if pull.Outcome == imagepull.OutcomeExternal && pull.State != "" {
		text += ", external"
	}
	return text
}

// ProgressText returns the received part and the total size of a pull. The text is empty while both sizes are
// unknown.
func ProgressText(pull api.LivePullRecord) string {
	switch {
	case pull.TotalBytes > 0:
		share := float64(pull.DoneBytes) / float64(pull.TotalBytes) * 100
		return fmt.Sprintf("%.1f of %s (%.0f %%)", float64(pull.DoneBytes)/mebibyte, sizeText(pull.TotalBytes),
			max(min(share, 100), 0))
	case pull.DoneBytes > 0:
		return sizeText(pull.DoneBytes)
	}
	return ""
}

// LengthText formats a duration that grows while users watch it. The precision is high enough to show the growth.
func LengthText(d time.Duration) string {
	d = max(d, 0).Round(100 * time.Millisecond)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d/time.Second%60)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d/time.Minute%60)
}
