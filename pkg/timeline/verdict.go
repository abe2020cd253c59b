package timeline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// verdictParts is how many of the longest parts a verdict names.
const verdictParts = 3

// severalImages are the words for the pulls of several images, with their number and the registry.
const severalImages = "pulling %d images from %s"

// part is what one party did, in all phases of a start-up together.
type part struct {
	key      string // what the party did, the same in every phase where it did it
	spans    []Span
	length   time.Duration
	pressure Pressure // times length
}

// Verdict is one sentence that says where the time went: the total, its longest parts, longest first,
// and the error of the total.
func (t Timeline) Verdict() string {
	parts := t.parts()
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.length, a.length) })
	var named []string
	for _, p := range parts[:min(len(parts), verdictParts)] {
		if p.length >= 50*time.Millisecond { // less would print as 0.0 s
			named = append(named, seconds(p.length)+" "+t.describe(p.spans)+p.pressure.describe(p.length))
		}
	}
	text := t.outcome()
	if len(named) > 0 {
		text += ": " + strings.Join(named, ", ")
	}
	return text + "; ±" + seconds(t.TotalError)
}

// parts adds up the phases in which the same party did the same: the pulls of all containers from one registry are one
// part, because it is the registry that took the time.
func (t Timeline) parts() []part {
	var parts []part
	for _, s := range t.Phases {
		key := t.keyOf(s)
		i := slices.IndexFunc(parts, func(p part) bool { return p.key == key })
		if i < 0 {
			parts = append(parts, part{key: key})
			i = len(parts) - 1
		}
		parts[i].spans = append(parts[i].spans, s)
		parts[i].length += s.Duration()
		parts[i].pressure.add(s)
	}
	return parts
}

// keyOf is the same for two spans that a verdict adds up.
func (t Timeline) keyOf(s Span) string {
	if s.Phase != PhaseUnattributed {
		return t.keyOfPhase(s.Phase, s)
	}
	keys := []string{string(PhaseUnattributed)}
	for _, phase := range s.MergedWith {
		keys = append(keys, t.keyOfPhase(phase, s))
	}
	return strings.Join(keys, "\n")
}

func (t Timeline) keyOfPhase(phase Phase, s Span) string {
	key := string(phase)
	if phase.loads() && s.ImageLoading {
		key += " loading"
	}
	switch rowOf(phase).about {
	case aboutRegistry:
		return key + " " + t.registryOf(s.Container)
	case aboutContainer:
		return key + " " + s.Container
	}
	return key
}

func (t Timeline) outcome() string {
	total, because := seconds(t.Total), ""
	if t.Reason != "" {
		because = " (" + t.Reason + ")"
	}
	switch t.State {
	case StateReady:
		return total + " to ready"
	case StateSucceeded:
		return total + " to its last container's start"
	case StateFailed:
		return "failed after " + total + because
	case StateDeleted:
		return "deleted after " + total + ", never ready" + because
	case StateGivenUp:
		return "given up after " + total + ", never ready" + because
	default:
		return "starting for " + total + because
	}
}

// describe say what a pod did in the spans of one part. If no party is charged with them, they name everything that may
// have taken the time.
func (t Timeline) describe(spans []Span) string {
	first := spans[0]
	if first.Phase != PhaseUnattributed || len(first.MergedWith) == 0 {
		text := t.describePhase(first.Phase, spans)
		if first.Phase == PhasePull {
			text += t.rateOf(spans) + t.concurrencyOf(spans) + t.lazilyOf(spans)
		}
		return text
	}
	may := make([]string, 0, len(first.MergedWith))
	for _, phase := range first.MergedWith {
		may = append(may, t.describePhase(phase, spans))
	}
	last := len(may) - 1
	return fmt.Sprintf("unattributed (%s or %s)", strings.Join(may[:last], ", "), may[last])
}

func (t Timeline) describePhase(phase Phase, spans []Span) string {
	text := t.describePlain(phase, spans)
	switch {
	case !phase.loads() || !spans[0].ImageLoading:
		return text
	case rowOf(phase).about == aboutContainer:
		return text + " while its image may still be loading"
	}
	return text + " while an image may still be loading"
}

func (t Timeline) describePlain(phase Phase, spans []Span) string {
	row, container := rowOf(phase), spans[0].Container
	if phase == PhasePullQueue {
		if image := t.blockerOf(spans); image != "" {
			return "queued behind " + image + " on this node"
		}
		if n := t.aheadOf(spans); n > 1 {
			return fmt.Sprintf("queued behind %d pulls on this node", n)
		}
	}
	switch row.about {
	case aboutRegistry:
		text := fmt.Sprintf(row.text, t.registryOf(container))
		if n := t.imagesOf(spans); n > 1 {
			text = fmt.Sprintf(severalImages, n, t.registryOf(container))
		}
		return text
	case aboutContainer:
		return fmt.Sprintf(row.text, cmp.Or(container, "the last container"))
	}
	return row.text
}

// blockerOf is the image that all pulls which waited in these spans waited for the longest; empty if it is not the same
// for all, or not known for one.
func (t Timeline) blockerOf(spans []Span) (image string) {
	for _, s := range spans {
		if s.Duration() < leastBlocked {
			continue
		}
		blocker := t.blockerOfContainer(s.Container)
		if blocker == "" || image != "" && blocker != image {
			return ""
		}
		image = blocker
	}
	return image
}

// blockerOfContainer is the image that a container's pull waited for the longest; empty when that is not known.
func (t Timeline) blockerOfContainer(container string) (image string) {
	var longest time.Duration
	for _, p := range t.Pulls {
		if p.Container == container && p.BlockedBy != nil && p.BlockedBy.Waited > longest {
			image, longest = p.BlockedBy.Image, p.BlockedBy.Waited
		}
	}
	return image
}

// imagesOf counts the images that were pulled in spans.
func (t Timeline) imagesOf(spans []Span) int {
	var images []string
	for _, s := range spans {
		image := s.Container
		if i := slices.IndexFunc(t.Pulls, func(p Pull) bool { return p.Container == s.Container }); i >= 0 {
			image = t.Pulls[i].Image
		}
		if !slices.Contains(images, image) {
			images = append(images, image)
		}
	}
	return len(images)
}

// rateOf is how fast the images of spans came, in words; empty when that is not known or tells nothing. A pod pulls one
// image after the other, so the times of its pulls add up.
func (t Timeline) rateOf(spans []Span) string {
	const least = 100 * time.Millisecond
	var bytes int64
	var took time.Duration
	for _, s := range spans {
		i := slices.IndexFunc(t.Pulls, s.pulls)
		switch {
		case s.Duration() == 0:
		case i >= 0 && t.Pulls[i].Outcome == imagepull.OutcomeVerified && t.Pulls[i].Timed:
			took += t.Pulls[i].Pull // nothing came
		case i >= 0 && t.Pulls[i].rated():
			bytes += t.Pulls[i].Bytes()
			took += t.Pulls[i].DownloadedAt.Sub(t.Pulls[i].StartedAt)
		default:
			return ""
		}
	}
	if took < least || bytes == 0 {
		return ""
	}
	return fmt.Sprintf(" at %.1f MiB/s", float64(bytes)/(1<<20)/took.Seconds())
}

// concurrencyOf says how many other pulls shared the node's link with those in spans, in words; empty if none is known.
func (t Timeline) concurrencyOf(spans []Span) string {
	least, most := math.MaxInt, 0
	for _, s := range spans {
		beside := 0
		for _, p := range t.Pulls {
			if s.pulls(p) {
				beside = p.Beside
			}
		}
		least, most = min(least, beside), max(most, beside)
	}
	switch {
	case most == 0:
		return ""
	case least < most:
		return fmt.Sprintf(" beside up to %d other pulls", most)
	case most == 1:
		return " beside 1 other pull"
	}
	return fmt.Sprintf(" beside %d other pulls", most)
}

// lazilyOf says in words that content of the images of spans may come after the pulls; empty if it had come with all.
func (t Timeline) lazilyOf(spans []Span) string {
	lazy := 0
	for _, s := range spans {
		if slices.ContainsFunc(t.Pulls, func(p Pull) bool { return p.Lazy && s.pulls(p) }) {
			lazy++
		}
	}
	switch lazy {
	case 0:
		return ""
	case len(spans):
		return " (lazily: content may still load while the container runs)"
	}
	return " (some lazily: content may still load while the containers run)"
}

// aheadOf is how many pulls were before those in spans in the node's queue; 0 if they are not the same for all that
// waited.
func (t Timeline) aheadOf(spans []Span) (ahead int) {
	waiting := 0
	for _, s := range spans {
		if s.Duration() < leastBlocked {
			continue
		}
		waiting++
		for _, p := range t.Pulls {
			if s.pulls(p) {
				ahead = p.Ahead
			}
		}
	}
	if waiting > 1 {
		return 0
	}
	return ahead
}

// Rate is how many bytes of the pull came in a second, from StartedAt until DownloadedAt; 0 when it is not known that
// all of them came in that time, and count at this pull.
func (p Pull) Rate() float64 {
	if !p.rated() {
		return 0
	}
	return float64(p.Bytes()) / p.DownloadedAt.Sub(p.StartedAt).Seconds()
}

// pulls says that a pull is the one that a span is about.
func (s Span) pulls(p Pull) bool { return p.Container == s.Container && p.Attempt == s.Attempt }

// rated says that all bytes of a pull are known to have come between StartedAt and DownloadedAt.
func (p Pull) rated() bool {
	dated := !p.StartedAt.IsZero() && p.DownloadedAt.After(p.StartedAt)
	own := !p.early && !p.Resumed && !p.Lazy && p.Credentials <= durationSlack && !slices.Contains(p.Shared, true)
	return dated && own && p.Bytes() > 0
}

// registryOf is where a container's image came from. The reference names the registry's host; the runtime may have
// asked a mirror or a pull-through cache in its place, and does not tell.
func (t Timeline) registryOf(container string) string {
	registry := "its registry"
	for _, p := range t.Pulls {
		if p.Container == container {
			registry = p.Registry
			break
		}
	}
	return registry + " or its mirror"
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// add weighs the pressure in a span by its length. Of what does not happen on the node, or is mere waiting, it says nothing.
func (p *Pressure) add(s Span) {
	switch s.Cause {
	case CausePlacement, CauseScheduler, CauseAPIServer, CauseBackoff, CauseConfig, CauseGate:
		return
	}
	if length := float64(s.Duration()); s.Pressure != nil {
		p.CPU, p.IO, p.Memory = p.CPU+length*s.Pressure.CPU, p.IO+length*s.Pressure.IO, p.Memory+length*s.Pressure.Memory
	}
}

// describe say that a pressure, times length, was high; else they are empty.
func (p *Pressure) describe(length time.Duration) string {
	l := float64(length)
	resource, share := (&Pressure{p.CPU / l, p.IO / l, p.Memory / l}).High()
	if resource == "" {
		return ""
	}
	return fmt.Sprintf(" while %s pressure was %.0f %%", resource, 100*share)
}
