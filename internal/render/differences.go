package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// leastOther is the smallest difference that partsText shows with the words "in other phases". A smaller difference
// would be printed as 0.0 s.
const leastOther = 50 * time.Millisecond

// Differences returns one paragraph for each difference that the data proves. Two comparisons have a paragraph even if
// the data proves no difference: between two revisions, and between start-ups with and without a pull. If the data
// proves no difference, the paragraph states the reason. The list is never nil. The summary can come from untrusted
// records.
func Differences(s api.WorkloadSummary) []string {
	texts := []string{}
	if text := imageStatement(s.Images); text != "" {
		texts = append(texts, text)
	}
	for _, node := range slowNodes(s.Nodes) {
		texts = append(texts, fmt.Sprintf("On average, start-ups took %s on node %s, and %s on the other nodes%s. %s",
			inSeconds(node.Durations.Mean), terminal.Clean(node.Name), inSeconds(node.Others.Mean),
			partsText(node.Difference, ""), evidenceText(node.Durations.StartUps, node.Others.StartUps)))
	}
	if s.Comparison != nil {
		texts = append(texts, revisionsText(revisionOf(s, s.Comparison.From), revisionOf(s, s.Comparison.To),
			s.Comparison.Difference))
	}
	return texts
}

// imageStatement compares the start-ups that pulled an image with the other start-ups. The text is empty if one of the
// groups has no start-ups.
func imageStatement(images api.WorkloadImages) string {
	present, pulled, d := images.Present, images.Pulled, images.Difference
	switch {
	case present == nil || pulled == nil:
		return ""
	case d == nil:
		return "Start-ups with and without a pull cannot be compared, because no revision has start-ups of both " +
			"kinds."
	case d.Verdict != api.MoreThanNoise:
		return "Start-ups with all images on the node, and start-ups with a pull: " + unprovenText(present, pulled, *d)
	}
	return fmt.Sprintf("On average, start-ups took %s if the node had all images, and %s if not%s. %s",
		inSeconds(present.Mean), inSeconds(pulled.Mean), partsText(*d, ""),
		evidenceText(present.StartUps, pulled.StartUps))
}

// unprovenText explains why the data does not prove a difference between two groups of start-ups.
func unprovenText(first, second *api.WorkloadDurations, d api.WorkloadDifference) string {
	n, m := startUpsOf(first), startUpsOf(second)
	switch d.Verdict {
	case api.TooFew:
		means := ""
		if n > 0 && m > 0 {
			means = fmt.Sprintf(" (%s and %s on average)", inSeconds(first.Mean), inSeconds(second.Mean))
		}
		return fmt.Sprintf("%d and %s are too few to prove a difference%s. At least 4 and 4, or 3 and 5 start-ups are "+
			"necessary.", n, CountText(m, "start-up"), means)
	case api.WithinErrors:
		return fmt.Sprintf("the error bounds of the durations are too large to prove a difference between the %d and "+
			"%s.", n, CountText(m, "start-up"))
	}
	return fmt.Sprintf("the difference is within the noise of %d and %s.", n, CountText(m, "start-up"))
}

// revisionsText compares the revisions "from" and "to".
func revisionsText(from, to api.WorkloadRevision, d api.WorkloadDifference) string {
	first, second := shortRevision(from), shortRevision(to)
	if d.Verdict != api.MoreThanNoise {
		return fmt.Sprintf("Revisions %s and %s: ", first, second) + unprovenText(from.Durations, to.Durations, d)
	}
	direction := "longer"
	if d.Seconds < 0 {
		direction = "less"
	}
	text := fmt.Sprintf("On average, revision %s takes %s %s than %s%s. %s",
		second, inSeconds(max(d.Seconds, -d.Seconds)), direction, first, partsText(d, imagesText(from, to)),
		evidenceText(startUpsOf(from.Durations), startUpsOf(to.Durations)))
	if from.Pulled*to.PulledOf != to.Pulled*from.PulledOf { // the shares differ
		text += fmt.Sprintf(" Pods of %s pulled an image in %s, pods of %s in %s.", first, pulledText(from), second,
			pulledText(to))
	}
	return text
}

func shortRevision(r api.WorkloadRevision) string {
	if r.Number > 0 {
		return fmt.Sprint(r.Number)
	}
	return terminal.Clean(r.Name)
}

func startUpsOf(d *api.WorkloadDurations) int {
	if d == nil {
		return 0
	}
	return d.StartUps
}

func pulledText(r api.WorkloadRevision) string {
	return fmt.Sprintf("%d of %s", r.Pulled, CountText(r.PulledOf, "start-up"))
}

// imagesText returns the sizes of the images of two revisions. The text is empty if a size is unknown, if the sizes are
// equal, or if the sizes do not include the same containers.
func imagesText(from, to api.WorkloadRevision) string {
	if from.ImageBytes <= 0 || to.ImageBytes <= 0 || from.ImageBytes == to.ImageBytes ||
		!slices.Equal(from.Containers, to.Containers) {
		return ""
	}
	noun := "image"
	if len(to.Containers) > 1 {
		noun = "images"
	}
	return fmt.Sprintf(" (%s %s → %s)", noun, SizeText(from.ImageBytes), SizeText(to.ImageBytes))
}

// evidenceText returns the sentence that says that a difference is more than noise. The arguments are the numbers of
// start-ups in the two groups.
func evidenceText(n, m int) string {
	return fmt.Sprintf("This is more than the noise of %d and %s.", n, CountText(m, "start-up"))
}

// partsText returns the end of a sentence. The text lists the phases that explain a difference. If the data does not
// prove a difference in any single phase, the text lists the phases whose means differ most, and states that these
// differences are not proven. The argument "images" is a text about the sizes of the images. partsText inserts "images"
// after the first phase that depends on the sizes of the images.
func partsText(d api.WorkloadDifference, images string) string {
	parts, begin, end := d.Parts, ": ", ""
	if len(parts) == 0 {
		const unproven = ", but the data does not prove in which phase"
		if len(d.Unproven) == 0 {
			return unproven
		}
		parts, begin, end = d.Unproven, unproven+" (not proven by phase: ", ")"
	}
	var texts []string
	for _, part := range parts {
		text := signed(part.Seconds) + " " + cmp.Or(timeline.ActivityOf(part.Phase), terminal.Clean(string(part.Phase)))
		switch part.Phase {
		case timeline.PhasePull, timeline.PhaseUnpack, timeline.PhaseImagePull:
			text, images = text+images, ""
		}
		texts = append(texts, text)
	}
	if len(d.Parts) > 0 && max(d.Other, -d.Other).Duration() >= leastOther {
		texts = append(texts, signed(d.Other)+" in other phases")
	}
	return begin + strings.Join(texts, ", ") + end
}

func signed(s api.Seconds) string { return SignedText(s.Duration(), 1) }
