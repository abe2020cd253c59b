package export

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// minBar is the narrowest useful time axis, in terminal cells; a narrower terminal wraps.
const minBar = 12

// Waterfall draws a record as plain text about columns wide: a line that says how it went, then
// each phase as a bar on a common time axis, the pulls, and what the evidence lacks. The record may
// come from anywhere: nothing in it can control the terminal.
func Waterfall(record Record, columns int) string {
	var out strings.Builder
	out.WriteString(wrap(clean(record.Namespace+"/"+record.Name)+": "+clean(record.Verdict), columns) + "\n" + origin(record) + "\n\n")
	writePhases(&out, record, columns)
	if len(record.Pulls) > 0 {
		out.WriteString("\n")
		writePulls(&out, record.Pulls)
	}
	if len(record.Conflicts) > 0 {
		out.WriteString("\nCONFLICTS\n")
	}
	for _, conflict := range record.Conflicts {
		at := clean(conflict.Mark)
		if conflict.Container != "" {
			at += " of " + clean(conflict.Container)
		}
		out.WriteString("  " + at + ": " + clean(conflict.Detail) + "\n")
	}
	if len(record.Missing) > 0 {
		out.WriteString("\nNO EVIDENCE FOR\n  " + strings.Join(convert(record.Missing, clean), ", ") + "\n")
	}
	if len(record.LostEvents) > 0 {
		out.WriteString("\nEVENTS THAT KUBELET MADE AND NOBODY GOT\n  " + strings.Join(convert(record.LostEvents, clean), ", ") + "\n")
	}
	return out.String()
}

// wrap breaks a line between words so that it keeps to the columns where its words do.
func wrap(text string, columns int) string {
	var out strings.Builder
	used := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case used == 0:
		case used+1+cells(word) > columns:
			out.WriteString("\n  ")
			used = 2
		default:
			out.WriteString(" ")
			used++
		}
		out.WriteString(word)
		used += cells(word)
	}
	return out.String()
}

// origin says where the pod ran and what came before.
func origin(record Record) string {
	text := "on node " + clean(record.Node)
	if record.Owner.Kind != "" {
		text += ", owned by " + clean(record.Owner.Kind) + "/" + clean(record.Owner.Name)
	}
	text += ", created " + record.CreatedAt.UTC().Format("2006-01-02 15:04:05.000 MST")
	if record.Reconstructed {
		text += "\nthe agent came after this start-up: reconstructed from what could still be read"
	}
	return text
}

func writePhases(out *strings.Builder, record Record, columns int) {
	layout := table{right: []bool{false, false, true, true, false, false}}
	layout.add("PHASE", "CONTAINER", "TIME", "ERROR", "", "CAUSE")
	for _, phase := range record.Phases {
		names := append([]string{string(phase.Phase)}, convert(phase.MergedWith, asString)...)
		cause := clean(string(phase.Cause))
		if phase.Open {
			cause += ", goes on"
		}
		if resource, share := (*timeline.Pressure)(phase.Pressure).High(); resource != "" {
			cause += fmt.Sprintf(", %s pressure %.0f %%", resource, 100*share)
		}
		layout.add(
			clean(strings.Join(names, "+")),
			attemptText(phase.Container, phase.Attempt),
			secondsText(phase.Length.Duration()), errorText(phase.Error.Duration()), "", cause,
		)
	}

	taken := 0
	for _, w := range layout.widths() {
		taken += w + len(columnGap)
	}
	axis := axis{
		start: record.CreatedAt.Time,
		total: record.Total.Duration(),
		cells: max(columns-taken+len(columnGap), minBar),
	}
	const barColumn = 4
	layout.rows[0][barColumn] = axis.heading()
	for i, phase := range record.Phases {
		layout.rows[i+1][barColumn] = axis.bar(phase.StartAt.Time, phase.EndAt.Time, phase.Open)
	}
	layout.write(out)
}

func writePulls(out *strings.Builder, pulls []PullRecord) {
	layout := table{right: []bool{false, false, true, true, true, true, false}}
	layout.add("IMAGE OF", "OUTCOME", "QUEUE", "PULL", "ERROR", "SIZE", "IMAGE")
	for _, pull := range pulls {
		queue, length, bound := "-", "-", "-"
		if pull.Queue != nil {
			queue = secondsText(pull.Queue.Duration())
		}
		if pull.Pull != nil && pull.Error != nil {
			length, bound = secondsText(pull.Pull.Duration()), errorText(pull.Error.Duration())
		}
		outcome := string(pull.Outcome)
		if pull.Failure != "" {
			outcome += ": " + string(pull.Failure)
		}
		layout.add(attemptText(pull.Container, pull.Attempt), clean(outcome),
			queue, length, bound, sizeText(pull.SizeBytes), clean(pull.Image))
	}
	layout.write(out)
}

// attemptText names a container and, from its second attempt on, which attempt this is.
func attemptText(container string, attempt int) string {
	if attempt > 0 {
		return clean(container) + " #" + strconv.Itoa(attempt+1)
	}
	return clean(container)
}

func secondsText(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

func errorText(d time.Duration) string { return "±" + secondsText(d) }

const mebibyte = 1 << 20

func sizeText(bytes int64) string {
	if bytes <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/mebibyte)
}

func asString[S ~string](s S) string { return string(s) }
