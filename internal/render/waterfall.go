package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// minBar is the minimum width of a useful time axis, in terminal cells. If the terminal has less space, the lines are
// too long, and the terminal wraps them.
const minBar = 12

// Waterfall draws the record of a pod. The text contains the verdict, a table of the phases with bars on one time axis,
// the pulls, and the missing evidence. The argument "live" contains the known pulls in progress, including pulls of
// other pods. The record and the pulls can be untrusted, so Waterfall removes characters that could control the
// terminal.
func Waterfall(record api.Record, page terminal.Page, live ...api.LivePullRecord) string {
	var out strings.Builder
	name := terminal.Clean(record.Namespace + "/" + record.Name)
	out.WriteString(page.Paragraph(terminal.Bold, name+": "+terminal.Clean(record.Verdict)))
	out.WriteString(page.Wrap(originText(record)) + "\n\n")
	writePhases(&out, "CONTAINER", record.Phases, record.CreatedAt.Time, record.Total.Duration(), page)
	writeMerged(&out, record.Phases, page)
	if len(record.Pulls) > 0 {
		out.WriteString("\n")
		writePulls(&out, record, live, page)
	}
	writeDoubts(&out, record.Conflicts, record.Missing, page)
	if len(record.Unreported) > 0 {
		unreported := page.Wrap(milestoneList(record.Unreported))
		out.WriteString("\nNOT REPORTED BY THIS CONTAINER RUNTIME\n  " + unreported + "\n")
	}
	if len(record.LostEvents) > 0 {
		out.WriteString("\nLOST KUBELET EVENTS\n  " + page.Wrap(listed(record.LostEvents)) + "\n")
	}
	if record.Termination != nil {
		writeTermination(&out, *record.Termination, page)
	}
	return out.String()
}

// writeDoubts writes the conflicts and the missing evidence.
func writeDoubts(out *strings.Builder, conflicts []api.ConflictRecord, missing []string, page terminal.Page) {
	if len(conflicts) > 0 {
		out.WriteString("\nCONFLICTS\n")
	}
	for _, conflict := range conflicts {
		at := terminal.Clean(conflict.Milestone)
		if conflict.Container != "" {
			at += " of " + terminal.Clean(conflict.Container)
		}
		out.WriteString("  " + page.Wrap(at+": "+terminal.Clean(conflict.Detail)) + "\n")
	}
	if len(missing) > 0 {
		out.WriteString("\nNO EVIDENCE FOR\n  " + page.Wrap(milestoneList(missing)) + "\n")
	}
}

// originText describes the pod: its node, its owner, its creation and its deletion.
func originText(record api.Record) string {
	text := "on node " + terminal.Clean(record.Node)
	if record.Owner.Kind != "" {
		text += ", owned by " + terminal.Clean(record.Owner.Kind) + "/" + terminal.Clean(record.Owner.Name)
	}
	const stamp = "2006-01-02 15:04:05.000 MST"
	text += ", created " + record.CreatedAt.UTC().Format(stamp)
	if !record.GoneAt.IsZero() {
		text += ", object deleted " + record.GoneAt.UTC().Format(stamp)
	}
	if record.Reconstructed {
		text += "\nreconstructed: the agent started after this start-up"
	}
	if record.ClockSkew != nil {
		text += "\nclock skew: the control plane's clock minus the node's clock is " + SkewText(record.ClockSkew)
	}
	return text
}

// writePhases draws phases on a time axis. The axis begins at the time "from" and covers the duration "total". The
// argument "of" is the title of the column with the phases' containers. In the start-up of a node, this column contains
// the objects that the phases belong to.
func writePhases(
	out *strings.Builder, of string, phases []api.PhaseRecord, from time.Time, total time.Duration, page terminal.Page,
) {
	layout := terminal.Table{Columns: []terminal.Column{{Shorten: terminal.Clip}, {Shorten: terminal.Clip},
		{Right: true}, {Right: true, Optional: true}, {Optional: true}, {}}}
	layout.Add("PHASE", of, "TIME", "ACCURACY", "", "CAUSE")
	for _, phase := range phases {
		cause := terminal.Clean(string(phase.Cause))
		if phase.Open {
			cause += ", in progress"
		}
		if phase.ImageLoading {
			cause += ", image may still be loading"
		}
		if resource, share := (*timeline.Pressure)(phase.Pressure).High(); resource != "" {
			cause += fmt.Sprintf(", %s pressure %.0f %%", resource, 100*min(share, 1)) // faulty data can exceed 1
		}
		layout.Add(
			phaseNames(phase),
			AttemptText(phase.Container, phase.Attempt),
			SecondsText(phase.Length.Duration()), AccuracyText(phase.Error.Duration()), "", cause,
		)
	}

	axis := axis{
		start: from,
		total: total,
		cells: max(page.Columns-layout.Width(), minBar),
	}
	const barColumn, causeColumn = 4, 5
	layout.Set(0, barColumn, axis.heading())
	layout.StyleRow(0, terminal.Dim)
	for i, phase := range phases {
		layout.Set(i+1, barColumn, axis.bar(phase.StartAt.Time, phase.EndAt.Time, phase.Open))
		layout.Style(i+1, barColumn, CauseStyle(phase.Cause))
		layout.Style(i+1, causeColumn, CauseStyle(phase.Cause))
	}
	layout.Write(out, page)
}

// maxMerged is the maximum number of phases from the field MergedWith that a row of the table names. The evidence
// cannot separate these phases from the row's phase. Longer lists are in the section CANDIDATES below the table.
const maxMerged = 3

// phaseNames returns the name of a phase, followed by the names in its field MergedWith. If MergedWith contains more
// than maxMerged names, phaseNames returns their number instead.
func phaseNames(phase api.PhaseRecord) string {
	if phase.Phase == timeline.PhaseImagePull {
		return string(phase.Phase) // the parts of image_pull are always pull and unpack
	}
	if len(phase.MergedWith) > maxMerged {
		return fmt.Sprintf("%s+%d candidates", terminal.Clean(string(phase.Phase)), len(phase.MergedWith))
	}
	names := string(phase.Phase)
	for _, merged := range phase.MergedWith {
		names += "+" + string(merged)
	}
	return terminal.Clean(names)
}

// writeMerged writes the section CANDIDATES. If the field MergedWith of a phase is too long for a row of the table, the
// section contains the whole list.
func writeMerged(out *strings.Builder, phases []api.PhaseRecord, page terminal.Page) {
	heading := "\nCANDIDATES\n"
	for _, phase := range phases {
		if len(phase.MergedWith) <= maxMerged {
			continue
		}
		of := phaseNames(phase)
		if phase.Container != "" {
			of += " of " + AttemptText(phase.Container, phase.Attempt)
		}
		names := make([]string, 0, len(phase.MergedWith))
		for _, merged := range phase.MergedWith {
			names = append(names, terminal.Clean(string(merged)))
		}
		out.WriteString(heading + "  " + page.Wrap(of+": "+strings.Join(names, ", ")) + "\n")
		heading = ""
	}
}

func writePulls(out *strings.Builder, record api.Record, live []api.LivePullRecord, page terminal.Page) {
	layout := terminal.Table{Columns: []terminal.Column{
		{Shorten: terminal.Clip}, {Shorten: terminal.Clip}, {Right: true}, {Right: true},
		{Right: true, Optional: true}, {Right: true, Optional: true}, {Shorten: terminal.ClipStart},
	}}
	layout.Add("IMAGE OF", "OUTCOME", "QUEUE", "PULL", "ACCURACY", "SIZE", "IMAGE")
	layout.StyleRow(0, terminal.Dim)
	var downloads []string
	for _, pull := range record.Pulls {
		texts := PullTextsOf(pull)
		i := slices.IndexFunc(live, func(p api.LivePullRecord) bool {
			return p.Namespace == record.Namespace && p.Pod == record.Name && p.Container == pull.Container
		})
		if i >= 0 && pull.Outcome == imagepull.OutcomePulling {
			texts.State = LivePullText(live[i])
			if rate := rateText(live[i]); rate != "" {
				downloads = append(downloads, terminal.Clean(pull.Container)+": "+ProgressText(live[i])+rate)
			}
		}
		layout.Add(AttemptText(pull.Container, pull.Attempt), texts.State, texts.Queue, texts.Pull, texts.Accuracy,
			SizeText(pull.SizeBytes), terminal.Clean(pull.Image))
	}
	layout.Write(out, page)
	if len(downloads) > 0 {
		out.WriteString("\nIN PROGRESS\n")
	}
	for _, download := range downloads {
		out.WriteString("  " + page.Wrap(download) + "\n")
	}
}

// PullTexts contains texts about one pull. Every table of pulls shows these texts.
type PullTexts struct{ State, Queue, Pull, Accuracy string }

// PullTextsOf returns the texts that tables and waterfalls show for a pull.
func PullTextsOf(pull api.PullRecord) PullTexts {
	texts := PullTexts{State: string(pull.Outcome), Queue: "-", Pull: "-", Accuracy: "-"}
	if pull.Queue != nil {
		texts.Queue = SecondsText(pull.Queue.Duration())
	}
	if pull.Pull != nil && pull.Error != nil {
		texts.Pull, texts.Accuracy = SecondsText(pull.Pull.Duration()), AccuracyText(pull.Error.Duration())
	}
	if pull.Failure != "" {
		texts.State += ": " + string(pull.Failure)
	}
	if pull.Lazy {
		texts.State += ", lazy"
	}
	texts.State = terminal.Clean(texts.State)
	return texts
}

// AttemptText returns the name of a container and, from the second attempt on, the number of the attempt.
func AttemptText(container string, attempt int) string {
	if attempt > 0 {
		return terminal.Clean(container) + " #" + strconv.Itoa(attempt+1)
	}
	return terminal.Clean(container)
}

// maxShown is the longest duration that texts show. Longer durations come from broken or untrusted servers.
const maxShown = 100 * 365 * 24 * time.Hour

// SecondsText formats a duration in seconds, to the millisecond. SecondsText returns "-" if the duration is negative or
// exceeds maxShown.
func SecondsText(d time.Duration) string {
	if d < 0 || d > maxShown {
		return "-"
	}
	return timeline.SecondsText(d, 3)
}

// SignedText formats a difference in seconds, with its sign.
func SignedText(d time.Duration, decimals int) string {
	text := timeline.SecondsText(d, decimals)
	if strings.HasPrefix(text, "-") {
		return text
	}
	return "+" + text
}

// AccuracyText formats an error bound. AccuracyText returns "-" if the error bound is negative or exceeds maxShown.
func AccuracyText(d time.Duration) string {
	if text := SecondsText(d); text != "-" {
		return "±" + text
	}
	return "-"
}

const (
	kibibyte = 1 << 10
	mebibyte = 1 << 20
	gibibyte = 1 << 30
)

// SizeText formats a number of bytes. SizeText returns "-" for an unknown size.
func SizeText(bytes int64) string {
	if bytes <= 0 {
		return "-"
	}
	if bytes >= gibibyte {
		return fmt.Sprintf("%.1f GiB", float64(bytes)/gibibyte)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/mebibyte)
}

// milestoneList returns the entries as one text, separated by commas. Each entry of a record has the form
// milestone[/container][#attempt] and counts attempts from 0. The result counts attempts from 1, as AttemptText does.
func milestoneList(entries []string) string {
	texts := slices.Clone(entries)
	for i, entry := range texts {
		name, number, _ := strings.Cut(entry, "#")
		if attempt, err := strconv.ParseUint(number, 10, 16); err == nil {
			texts[i] = AttemptText(name, int(attempt))
		}
	}
	return listed(texts)
}

// listed cleans the texts for a terminal and joins them with commas.
func listed(texts []string) string {
	cleaned := make([]string, 0, len(texts))
	for _, text := range texts {
		cleaned = append(cleaned, terminal.Clean(text))
	}
	return strings.Join(cleaned, ", ")
}

// CauseStyle returns the color of a cause. All outputs use the same color for a cause.
func CauseStyle(cause timeline.Cause) terminal.Style {
	switch cause {
	case timeline.CauseApp:
		return terminal.Green
	case timeline.CauseRegistry:
		return terminal.Orange
	case timeline.CausePullQueue:
		return terminal.Yellow
	case timeline.CauseDisk, timeline.CauseVolumes:
		return terminal.Purple
	case timeline.CauseNetwork:
		return terminal.Sky
	case timeline.CauseScheduler, timeline.CauseKubelet, timeline.CauseRuntime:
		return terminal.Blue
	case timeline.CauseBackoff, timeline.CauseConfig:
		return terminal.Vermillion
	}
	return terminal.Grey
}
