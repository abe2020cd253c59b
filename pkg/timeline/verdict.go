package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// verdictParts is how many of the longest parts a verdict names.
const verdictParts = 3

// Verdict is one sentence that says where the time went: the total, its longest parts, longest first,
// and the error of the total.
func (t Timeline) Verdict() string {
	type part struct {
		words    string
		length   time.Duration
		pressure Pressure // times length
	}
	var parts []part
	for _, s := range t.Phases {
		words := t.words(s)
		i := slices.IndexFunc(parts, func(p part) bool { return p.words == words })
		if i < 0 {
			parts = append(parts, part{words: words})
			i = len(parts) - 1
		}
		parts[i].length += s.Duration()
		parts[i].pressure.add(s)
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.length, a.length) })
	var named []string
	for _, p := range parts[:min(len(parts), verdictParts)] {
		if p.length >= 50*time.Millisecond { // less would print as 0.0 s
			named = append(named, seconds(p.length)+" "+p.words+p.pressure.words(p.length))
		}
	}
	text := t.outcome()
	if len(named) > 0 {
		text += ": " + strings.Join(named, ", ")
	}
	return text + "; ±" + seconds(t.TotalError)
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

// words is what a pod did in a span. Of one that nobody is charged with, it is all that may have been.
func (t Timeline) words(s Span) string {
	if s.Phase != PhaseUnattributed || len(s.MergedWith) == 0 {
		return t.wordsOf(s.Phase, s)
	}
	may := make([]string, 0, len(s.MergedWith))
	for _, phase := range s.MergedWith {
		may = append(may, t.wordsOf(phase, s))
	}
	last := len(may) - 1
	return fmt.Sprintf("unattributed (%s or %s)", strings.Join(may[:last], ", "), may[last])
}

func (t Timeline) wordsOf(phase Phase, s Span) string {
	row := rowOf(phase)
	if phase == PhasePullQueue {
		if image := t.blockerOf(s.Container); image != "" {
			return "queued behind " + image + " on this node"
		}
	}
	switch row.about {
	case aboutRegistry:
		return fmt.Sprintf(row.words, t.registryOf(s.Container)) + t.rateOf(s.Container)
	case aboutContainer:
		return fmt.Sprintf(row.words, cmp.Or(s.Container, "the last container"))
	}
	return row.words
}

// blockerOf is the image that a container's pull waited for the longest; empty when that is not known.
func (t Timeline) blockerOf(container string) (image string) {
	var longest time.Duration
	for _, p := range t.Pulls {
		if p.Container == container && p.BlockedBy != nil && p.BlockedBy.Waited > longest {
			image, longest = p.BlockedBy.Image, p.BlockedBy.Waited
		}
	}
	return image
}

// rateOf is how fast a container's image came, in words; empty when that is not known or tells nothing.
func (t Timeline) rateOf(container string) string {
	const least = 100 * time.Millisecond
	for _, p := range t.Pulls {
		took := p.DownloadedAt.Sub(p.StartedAt)
		if p.Container == container && p.Bytes() > 0 && took >= least {
			return fmt.Sprintf(" at %.1f MiB/s", float64(p.Bytes())/(1<<20)/took.Seconds())
		}
	}
	return ""
}

func (t Timeline) registryOf(container string) string {
	for _, p := range t.Pulls {
		if p.Container == container {
			return p.Registry
		}
	}
	return "its registry"
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// add weighs the pressure in a span by its length. Of what does not happen on the node, or is mere waiting, it says nothing.
func (p *Pressure) add(s Span) {
	switch s.Cause {
	case CauseScheduler, CauseBackoff, CauseConfig, CauseGate:
		return
	}
	if length := float64(s.Duration()); s.Pressure != nil {
		p.CPU, p.IO, p.Memory = p.CPU+length*s.Pressure.CPU, p.IO+length*s.Pressure.IO, p.Memory+length*s.Pressure.Memory
	}
}

// words say that a pressure, times length, was high; else they are empty.
func (p *Pressure) words(length time.Duration) string {
	l := float64(length)
	resource, share := (&Pressure{p.CPU / l, p.IO / l, p.Memory / l}).High()
	if resource == "" {
		return ""
	}
	return fmt.Sprintf(" while %s pressure was %.0f %%", resource, 100*share)
}
