package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// verdictParts is the maximum number of parts that a verdict names.
const verdictParts = 3

// leastNamed is the shortest duration that a verdict names. A shorter duration would print as 0.0 s.
const leastNamed = 50 * time.Millisecond

// severalImages is the text for pulls of several images. The text contains the number of images and the registry.
const severalImages = "pulling %d images from %s"

// part combines all phases in which the same party did the same kind of work during a start-up.
type part struct {
	key      string // identifies the work; all phases with the same work have the same key
	spans    []Span
	length   time.Duration
	error    time.Duration // error bound of length: maximum of |length − truth|
	pressure Pressure      // sum over all phases: the pressure multiplied by the length of the phase
}

// Verdict returns one sentence about a start-up. The sentence contains the total, the longest parts in descending
// order, and the error bound (±) of the total. The sentence also contains the error bound of a part whose length is
// uncertain.
func (t Timeline) Verdict() string {
	parts := t.mergedParts()
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.length, a.length) })
	var named []string
	for _, p := range parts[:min(len(parts), verdictParts)] {
		if p.length >= leastNamed {
			length := partLength(p.length, p.error, t.TotalError)
			named = append(named, length+" "+t.describe(p.spans)+p.pressure.describe(p.length))
		}
	}
	text := t.outcome()
	if len(named) > 0 {
		text += ": " + strings.Join(named, ", ")
	}
	return text + boundText(t.TotalError, t.Missing)
}

// boundText returns the last part of a verdict: the error bound of the total. If the node's clock was set, the
// text says so, because this change makes the bound large.
func boundText(total time.Duration, missing []string) string {
	text := "; ±" + seconds(total)
	if slices.Contains(missing, MissingClock) {
		text += " because the node's clock was set"
	}
	return text
}

// mergedParts combines the phases in which the same party did the same work. For example, all pulls from one registry
// are one part, because the registry is responsible for their time.
func (t Timeline) mergedParts() []part {
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
		parts[i].error += s.Error
		parts[i].pressure.add(s)
	}
	return parts
}

// keyOf returns the key of the part to which a span belongs. A verdict adds up all spans that have the same key.
func (t Timeline) keyOf(s Span) string {
	if !s.Phase.IsGroup() || s.Phase == PhaseImagePull {
		return t.keyOfPhase(s.Phase, s)
	}
	keys := []string{string(s.Phase)}
	for _, phase := range s.MergedWith {
		keys = append(keys, t.keyOfPhase(phase, s))
	}
	return strings.Join(keys, "\n")
}

func (t Timeline) keyOfPhase(phase Phase, s Span) string {
	key := string(phase)
	if phase.mayReadImage() && s.ImageLoading {
		key += " loading"
	}
	switch rowOf(phase).about {
	case aboutRegistry:
		return key + " " + t.registryOf(s)
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

// describe returns a text about the spans of one part. If no single party is responsible, the text names every phase
// that might have taken the time.
func (t Timeline) describe(spans []Span) string {
	first := spans[0]
	if !first.Phase.IsGroup() || first.Phase == PhaseImagePull {
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
	if first.Phase == PhaseSandboxSetup {
		return anyOf(may)
	}
	return unattributedText(may)
}

// anyOf joins texts with commas and "or".
func anyOf(texts []string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}

// unattributedText describes a part without a known cause. The argument "may" contains the texts of the phases that the
// part might include.
func unattributedText(may []string) string {
	switch last := len(may) - 1; last {
	case -1:
		return "unattributed"
	case 0:
		return fmt.Sprintf("unattributed (possibly %s)", may[0])
	default:
		return fmt.Sprintf("unattributed (%s)", anyOf(may))
	}
}

func (t Timeline) describePhase(phase Phase, spans []Span) string {
	text := t.describePlain(phase, spans)
	switch {
	case !phase.mayReadImage() || !spans[0].ImageLoading:
		return text
	case rowOf(phase).about == aboutContainer:
		return text + " while its image may still be loading"
	}
	return text + " while an image may still be loading"
}

func (t Timeline) describePlain(phase Phase, spans []Span) string {
	row, container := rowOf(phase), spans[0].Container
	if phase == PhasePullQueue {
		if text := t.describeQueue(spans); text != "" {
			return text
		}
	}
	switch row.about {
	case aboutRegistry:
		registry, n := t.registryOf(spans[0]), t.imagesOf(spans)
		switch {
		case registry == "" && n > 1:
			return fmt.Sprintf("pulling %d images", n)
		case registry == "":
			return "pulling the image"
		case n > 1:
			return fmt.Sprintf(severalImages, n, registry)
		}
		return fmt.Sprintf(row.text, registry)
	case aboutContainer:
		switch {
		case phase == PhasePostStartHook && !spans[0].namesHook():
			return "in a post-start hook"
		case phase == PhaseCrashBackoff && container == "": // for example, before a lost sandbox was replaced
			return "crash back-off"
		}
		return fmt.Sprintf(row.text, cmp.Or(container, "the last container"))
	}
	return row.text
}

// namesHook reports whether the span's container is certainly the container with the post-start hook. A group phase
// can include a phase other than PhasePostStartHook and PhaseKubeletSync. The result is then false, because the span's
// container can be the container of that other phase.
func (s Span) namesHook() bool {
	return s.Phase == PhasePostStartHook || slices.Index(s.MergedWith, PhasePostStartHook) == 0 &&
		!slices.ContainsFunc(s.MergedWith[1:], func(p Phase) bool { return p != PhaseKubeletSync })
}

// partLength returns the length of a part as text. The argument "bound" is the part's error bound, and the argument
// "total" is the total's error bound. The verdict already contains the total's error bound. So the text contains the
// part's error bound only under two conditions:
//   - The part's error bound is greater than half of the part's length.
//   - The part's error bound exceeds the total's error bound by at least leastNamed.
func partLength(length, bound, total time.Duration) string {
	if 2*bound <= length || bound < total+leastNamed {
		return seconds(length)
	}
	return seconds(length) + " ±" + seconds(bound)
}

func seconds(d time.Duration) string { return SecondsText(d, 1) }

// add multiplies the pressure during a span by the span's length, and adds the result to p. add skips phases that do
// not happen on the node, and phases that are only waits.
func (p *Pressure) add(s Span) {
	switch s.Cause {
	case CausePlacement, CauseScheduler, CauseAPIServer, CauseBackoff, CauseConfig, CauseGate:
		return
	}
	if length := float64(s.Duration()); s.Pressure != nil {
		p.CPU, p.IO, p.Memory = p.CPU+length*s.Pressure.CPU, p.IO+length*s.Pressure.IO,
			p.Memory+length*s.Pressure.Memory
	}
}

// describe returns a text about the highest pressure, or an empty text if no pressure was high. The method add
// computes p as a sum, so describe divides p by the argument "length".
func (p *Pressure) describe(length time.Duration) string {
	l := float64(length)
	resource, share := (&Pressure{p.CPU / l, p.IO / l, p.Memory / l}).High()
	if resource == "" {
		return ""
	}
	return fmt.Sprintf(" while %s pressure was %.0f %%", resource, 100*share)
}
