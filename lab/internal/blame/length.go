package blame

import (
	"fmt"
	"slices"
	"time"
)

// Length is the true duration of one phase.
type Length struct {
	Phase, Container string
	Length           time.Duration
	Slack            time.Duration
}

// Violation is a phase whose reported duration is wrong. The reported duration and the true duration differ by more
// than the sum of the agent's error bound and Length.Slack.
type Violation struct {
	Length
	Reported, Error time.Duration
}

func (v Violation) String() string {
	return fmt.Sprintf("phase %s %s: the agent reports %s with an error bound of %s, but the true duration is %s with "+
		"an accuracy of %s", v.Phase, v.Container,
		v.Reported.Round(time.Millisecond), v.Error.Round(time.Millisecond), v.Length.Length.Round(time.Millisecond),
		v.Slack)
}

// Lengths returns the true durations of phases. Lengths omits a phase if it happened more than once, or if the account
// does not contain its exact start and end.
func (a Account) Lengths() []Length {
	var lengths []Length
	add := func(phase, container string, s Span, late time.Duration) {
		if !s.From.IsZero() && s.To.After(s.From) {
			lengths = append(lengths,
				Length{Phase: phase, Container: container, Length: s.Length(), Slack: 2*Slack + late})
		}
	}
	if len(a.Stopped) > 0 &&
		slices.ContainsFunc(a.Stopped, func(s Stop) bool { return s.overlap(Span{a.CreatedAt, a.Until}) > 0 }) {
		return nil // a stop of containerd also changes the durations of other phases
	}
	calls := a.closedCalls()
	times := make(map[string]int)
	for _, c := range calls {
		times[c.Kind+" "+c.Container]++
	}
	for _, c := range calls {
		if c.Failed || times[c.Kind+" "+c.Container] > 1 {
			continue
		}
		switch {
		case c.Kind == Sandbox && len(c.Network) == 1 && c.PauseImage.From.Before(c.Network[0].From) &&
			!c.PauseImage.From.IsZero():
			// containerd 1 pulls the pause image before the phase "network" starts. No log shows when the phase
			// "network" starts.
		case c.Kind == Sandbox && len(c.Network) == 1:
			add("network", "", Span{c.From, c.Network[0].To}, pluginEnds)
		case c.Kind == Pull && !c.LastByteAt.IsZero():
			add("pull", c.Container, Span{c.From, earlier(c.LastByteAt, c.To)}, maxArrivalDelay)
		case c.Kind == Start:
			if i := a.runOf(c); i >= 0 && a.Runs[i].Init && !a.Runs[i].ExitedAt.IsZero() {
				add("init_run", c.Container, Span{c.To, a.Runs[i].ExitedAt}, 0)
			}
		}
	}
	return lengths
}

// Compare compares the durations of the agent's phases with the true durations. The results are the violations and the
// number of compared phases. Compare skips a phase that the agent splits into parts or merges with other phases.
func Compare(reported []Reported, lengths []Length) (violations []Violation, compared int) {
	for _, l := range lengths {
		v, times := Violation{Length: l}, 0
		for _, t := range reported {
			if t.Phase == l.Phase && t.Container == l.Container {
				v.Reported, v.Error = t.Length(), t.Error
				times++
			}
		}
		if times != 1 || slices.ContainsFunc(reported, func(t Reported) bool {
			return slices.Contains(t.Merged, l.Phase) &&
				(l.Container == "" || t.Container == "" || t.Container == l.Container)
		}) {
			continue
		}
		compared++
		if (v.Reported - l.Length).Abs() > v.Error+l.Slack {
			violations = append(violations, v)
		}
	}
	return violations, compared
}
