package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// summarySentence describes the whole report. The argument "coverage" is a text that follows the number of nodes. The
// argument "measured" is the subject of the sentence about r.Seconds, for example "The start-ups". If the argument
// "compared" is false, the function omits the lost time.
func summarySentence(r Report, coverage, measured string, compared bool) string {
	text := fmt.Sprintf("%s to %s: %s%s, %s (%d unsuccessful), %d in progress. %s took %s.",
		r.Since.UTC().Format(minutes), r.Until.UTC().Format(minutes+" MST"),
		plural(r.NodeCount, "node", "nodes"), coverage, plural(r.StartUps, "start-up", "start-ups"), r.Failures,
		r.InProgress, measured, secondsText(r.Seconds))
	switch {
	case !compared:
	case r.Lost > 0:
		text += fmt.Sprintf(" %s of this time was lost, including random differences.", secondsText(r.Lost))
	default:
		text += " None of this time was lost."
	}
	return text
}

// minutes is the format of the times in summarySentence.
const minutes = "2006-01-02 15:04"

// coverage describes the nodes that have sums for only a part of the period. The text contains the number of these
// nodes, and the time from which the sums of all nodes are complete. If the beginning of the complete sums is unknown,
// the text does not contain a time. If the sums of all nodes cover the whole period, the text is empty.
func (f *Fleet) coverage() string {
	switch {
	case f.late == 0:
		return ""
	case f.unknown:
		return fmt.Sprintf(" (%d with incomplete data)", f.late)
	}
	// Round up to a full minute, because the sums are incomplete until completeSince. But do not exceed the end of the
	// period, which summarySentence rounds down to a full minute.
	at := f.completeSince().UTC().Add(time.Minute - time.Nanosecond).Truncate(time.Minute)
	if end := f.until.UTC().Truncate(time.Minute); at.After(end) {
		at = end
	}
	text := fmt.Sprintf(" (%d with data only since %s", f.late, at.Format(minutes))
	if f.late > 1 {
		text += " or earlier" // the sums of the other late nodes can begin earlier
	}
	return text + ")"
}

// causeSentence describes a cause. The argument "place" is the preposition before r.Most: "in" or "on".
func causeSentence(r Row, place string) string {
	return fmt.Sprintf("%s: %s lost of %s; most %s %s (%s)", r.Name, secondsText(r.Lost),
		secondsText(r.Seconds), place, r.Most,
		secondsText(r.MostLost))
}

func nodeSentence(r Row) string {
	text := fmt.Sprintf("node %s: %.1f times slower than the other nodes; %s lost in %s", r.Name, *r.Factor,
		secondsText(r.Lost), plural(r.StartUps, "start-up", "start-ups"))
	return text + mostText(r)
}

func registrySentence(r Row) string {
	var parts []string
	if r.Factor != nil && r.Lost > 0 {
		parts = append(parts, fmt.Sprintf("%.1f times slower per byte than the other registries", *r.Factor),
			fmt.Sprintf("%s lost in %s of %s", secondsText(r.Lost), plural(r.Pulls, "pull", "pulls"), size(r.Bytes)))
	} else {
		parts = append(parts, pullsText(r.Pulls))
	}
	parts = append(parts, unfinishedTexts(r, "pull", "pulls", "failed")...)
	return "registry " + r.Name + ": " + strings.Join(parts, "; ")
}

// imageSentence compares the time per pull, and also the time per byte. A pull of a large image takes longer from any
// registry, so the time per pull alone does not show whether the registry is slow.
func imageSentence(r Row, image, all api.PullTotals) string {
	parts := []string{pullsText(r.Pulls)}
	if r.Lost > 0 {
		first := "much more time per pull than the other images"
		if r.Factor != nil {
			first = fmt.Sprintf("%.1f times the time per pull of the other images", *r.Factor)
		}
		parts = []string{first, fmt.Sprintf("%s lost in %s", secondsText(r.Lost), parts[0])}
	}
	if r.Pulls > 0 && r.Bytes > 0 {
		parts = append(parts, size(r.Bytes/int64(r.Pulls))+" per pull")
	}
	perByte, ofOthers := ratePerByte(image.Sized), ratePerByte(api.SizedTotals{
		Length: all.Sized.Length - image.Sized.Length, Bytes: all.Sized.Bytes - image.Sized.Bytes})
	if perByte > 0 && ofOthers > 0 {
		parts[len(parts)-1] += fmt.Sprintf(", %.1f times the time per byte of the other images", perByte/ofOthers)
	}
	parts = append(parts, unfinishedTexts(r, "pull", "pulls", "failed")...)
	return "image " + r.Name + ": " + strings.Join(parts, "; ")
}

func ratePerByte(s api.SizedTotals) float64 {
	if s.Bytes <= 0 {
		return 0
	}
	return s.Length.Duration().Seconds() / float64(s.Bytes)
}

func workloadSentence(r Row) string {
	first := "much longer than the other workloads"
	if r.Factor != nil {
		first = fmt.Sprintf("%.1f times the time that the others need", *r.Factor)
	}
	parts := []string{first, fmt.Sprintf("%s lost in %s", secondsText(r.Lost),
		plural(r.StartUps+r.InProgress, "start-up", "start-ups")) + mostText(r)}
	parts = append(parts, unfinishedTexts(r, "start-up", "start-ups", "unsuccessful")...)
	return r.Name + ": " + strings.Join(parts, "; ")
}

// pullsText states the number of downloads with a known duration. For n = 0, the text is not "0 pulls", because the
// same sentence can report failed pulls.
func pullsText(n int) string {
	if n == 0 {
		return "no measured download"
	}
	return plural(n, "pull", "pulls")
}

func mostText(r Row) string {
	if r.Most == "" || r.MostLost <= 0 {
		return ""
	}
	return fmt.Sprintf(", most in %s (%s)", r.Most, secondsText(r.MostLost))
}

// unfinishedTexts states how many start-ups or pulls did not succeed, and how many are in progress. A start-up can end
// without success although nothing failed, for example because a client deleted the pod. So the argument "without" is
// "unsuccessful" for start-ups and "failed" for pulls.
func unfinishedTexts(r Row, one, many, without string) (parts []string) {
	if r.Failures > 0 {
		parts = append(parts, plural(r.Failures, one, many)+" "+without)
	}
	if r.InProgress > 0 {
		parts = append(parts, plural(r.InProgress, one, many)+" in progress")
	}
	return parts
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// secondsText formats a duration. All durations of a report are in seconds, so that a reader can compare
// them.
func secondsText(s api.Seconds) string {
	if s.Duration() < 10*time.Second {
		return timeline.SecondsText(s.Duration(), 1)
	}
	return timeline.SecondsText(s.Duration(), 0)
}

func size(bytes int64) string {
	const mebibyte, gibibyte = 1 << 20, 1 << 30
	if bytes >= gibibyte {
		return fmt.Sprintf("%.1f GiB", float64(bytes)/gibibyte)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/mebibyte)
}
