package scenario

import (
	"fmt"
	"slices"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// tally compares many timelines with what is known of them.
type tally struct {
	readings []reading
	waits    waits    // none: every phase has to be as exact as on an idle machine
	stamps   int      // milestones and spans of the control plane that were compared
	refuted  []string // those that are not where the agent says they are for certain
	problems []string

	widestMilestone time.Duration // of the intervals that the agent states for milestones
	widestSpan      time.Duration // of its errors for spans
}

// The control plane floors its stamps to a second, so that a milestone may be anywhere in one, and a length between two of them be
// two seconds off at most. An agent that states more, beside the skew that it has proven, promises nothing.
const (
	widestMilestone = time.Second
	widestSpan      = 2 * time.Second
)

// add compares one timeline.
func (t *tally) add(timeline agent.Timeline, k known) {
	under := "" // the phase that the one before was told under
	for i, length := range k.lengths {
		t.problem(k.pod, length.happenedOtherwise())
		mergedIn := under
		if under = ""; i+1 < len(k.lengths) {
			if both, ok := length.joined(k.lengths[i+1], timeline); ok {
				length, under = both, length.phase
			}
		}
		r := newReading(k.pod, length)
		r.waited = t.waits.near(r.happened)
		t.problem(k.pod, r.read(timeline))
		if r.missing && mergedIn != "" {
			r.mergedIn = mergedIn
		}
		t.readings = append(t.readings, r)
	}
	skew, err := skewOf(timeline)
	t.problem(k.pod, err)
	for _, m := range k.milestones {
		t.stamps++
		reported, there := timeline.Milestone(m.milestone, "")
		if !there || !meets(m.held, reported) {
			t.refuted = append(t.refuted, fmt.Sprintf("%s %s: held by [%s, %s], the agent says [%s, %s]", k.pod, m.milestone,
				clock(m.held.StartAt), clock(m.held.EndAt), clock(reported.Earliest), clock(reported.Latest)))
			continue
		}
		if reported.Earliest.IsZero() || reported.Latest.IsZero() {
			t.problem(k.pod, fmt.Errorf("milestone %s has an open end", m.milestone))
			continue
		}
		width := reported.Latest.Sub(reported.Earliest)
		t.widestMilestone = max(t.widestMilestone, width)
		if width > widestMilestone+skew {
			t.problem(k.pod, fmt.Errorf("milestone %s may be anywhere in %s", m.milestone, seconds(width)))
		}
	}
	for _, s := range k.spans {
		t.stamps++
		measured, stated, err := s.read(timeline)
		t.problem(k.pod, err)
		if shortest, longest := s.between(); measured+stated < shortest || measured-stated > longest {
			t.refuted = append(t.refuted, fmt.Sprintf("%s %s: held by [%s, %s], the agent says %s, error %s", k.pod, s.name(),
				seconds(shortest), seconds(longest), seconds(measured), seconds(stated)))
		}
		t.widestSpan = max(t.widestSpan, stated)
		if stated > widestSpan+skew {
			t.problem(k.pod, fmt.Errorf("%s: the stated error is %s", s.name(), seconds(stated)))
		}
	}
}

// skewOf is how far apart the agent says that the clocks are at most; zero when it has not proven that they are.
func skewOf(timeline agent.Timeline) (time.Duration, error) {
	if timeline.ClockSkew == nil {
		return 0, nil
	}
	least, err := agent.Nanoseconds(timeline.ClockSkew.Least)
	if err != nil {
		return 0, fmt.Errorf("clock_skew.least_seconds: %w", err)
	}
	most, err := agent.Nanoseconds(timeline.ClockSkew.Most)
	if err != nil {
		return 0, fmt.Errorf("clock_skew.most_seconds: %w", err)
	}
	return max(least.Abs(), most.Abs()), nil
}

func (t *tally) problem(pod string, err error) {
	if err != nil {
		t.problems = append(t.problems, fmt.Sprintf("pod %s: %v", pod, err))
	}
}

// meets is the rule for instants: the truth, and the interval that the agent promises to hold it, have an
// instant in common. The truth is known to within the interval of a call or of a cause and a consequence,
// mostly some milliseconds, so what does not meet is refuted, and what meets is right to within these.
func meets(held bench.Span, reported agent.Milestone) bool {
	return (reported.Earliest.IsZero() || !reported.Earliest.After(held.EndAt)) &&
		(reported.Latest.IsZero() || !reported.Latest.Before(held.StartAt))
}

// between is the same rule for lengths: it holds the true one, and so has to meet what is measured,
// give or take the stated error.
func (s knownSpan) between() (shortest, longest time.Duration) {
	return max(0, s.to.StartAt.Sub(s.from.EndAt)), s.to.EndAt.Sub(s.from.StartAt)
}

func (s knownSpan) name() string {
	if s.phase == "" {
		return "total"
	}
	return s.phase
}

func (s knownSpan) read(timeline agent.Timeline) (measured, stated time.Duration, err error) {
	if s.phase == "" {
		if measured, err = agent.Nanoseconds(timeline.TotalSeconds); err != nil {
			return 0, 0, fmt.Errorf("total_seconds: %w", err)
		}
		if stated, err = agent.Nanoseconds(timeline.TotalError); err != nil {
			return 0, 0, fmt.Errorf("total_error_seconds: %w", err)
		}
		return measured, stated, nil
	}
	measured, there, err := timeline.In(s.phase, "")
	if holder, merged := timeline.MergedIn(s.phase); err == nil && !there && merged {
		return s.readMerged(holder)
	}
	if err == nil && !there {
		err = fmt.Errorf("no phase %s", s.phase)
	}
	if err == nil {
		stated, err = timeline.Stated(s.phase, "")
	}
	return measured, stated, err
}

// readMerged reads a length as that of the stretch in which the agent does not tell the phase from others.
func (s knownSpan) readMerged(holder agent.Phase) (measured, stated time.Duration, err error) {
	if measured, err = agent.Nanoseconds(holder.Seconds); err == nil {
		stated, err = agent.Nanoseconds(holder.Error)
	}
	if err != nil {
		err = fmt.Errorf("phase %s, with %s: %w", holder.Phase, s.phase, err)
	}
	return measured, stated, err
}

// judgeExactness wants 99 of 100 phases within the exactness, and every promise kept.
func (t *tally) judgeExactness(v *Verdict) {
	t.judgeShare(v, fmt.Sprintf("within %s of the truth", exact), len(t.readings)/100, reading.within)
	for _, r := range t.readings {
		if r.within() && r.off().Abs() > exact {
			v.Note("allowed for, since tasks waited: %s", r)
		}
	}
	t.judgePromises(v)
}

// judgePromises wants every stamp of the control plane to lie within the error that the agent stated, and
// every phase to be told, or to be named as part of a stretch that nobody is blamed for. Of the lengths on
// the node's clock one in a hundred may lie outside its error: their truth is no more exact than that, since
// a machine that is busy with something else comes between a thing and who dates it.
func (t *tally) judgePromises(v *Verdict) {
	v.Compared += len(t.readings) + t.stamps
	merged := 0
	for _, r := range t.readings {
		switch {
		case r.mergedIn != "":
			merged++
			v.Note("merged: %s", r)
		case r.missing:
			v.Problem("missing: %s", r)
		}
	}
	t.judgeShare(v, fmt.Sprintf("within the stated error and %s", exact), len(t.readings)/100, func(r reading) bool { return r.missing || r.kept() })
	for _, stamp := range t.refuted {
		v.Problem("outside the stated error: %s", stamp)
	}
	v.Problems = append(v.Problems, t.problems...)
	v.Note("%d of %d stamps of the control plane lie within the stated error", t.stamps-len(t.refuted), t.stamps)
	v.Note("the widest of these are a milestone in %s and a length with an error of %s", seconds(t.widestMilestone), seconds(t.widestSpan))
	v.Note("%d of %d phases are told only as part of others", merged, len(t.readings))
	if 20*merged > len(t.readings) { // an agent that knew nothing would tell everything so
		v.Problem("%d of %d phases are told only as part of others: more than one in twenty", merged, len(t.readings))
	}
	t.describe(v)
}

// judgeShare wants all but a few phases on the node's clock to be right, and shows the others.
func (t *tally) judgeShare(v *Verdict, rule string, allowed int, right func(reading) bool) {
	var wrong []string
	for _, r := range t.readings {
		if !right(r) {
			wrong = append(wrong, fmt.Sprintf("not %s: %s", rule, r))
		}
	}
	v.Note("%d of %d phases on the node's clock are %s", len(t.readings)-len(wrong), len(t.readings), rule)
	if len(wrong) <= allowed {
		v.Notes = append(v.Notes, wrong...)
		return
	}
	v.Problem("%d of %d phases on the node's clock are not %s: more than %d", len(wrong), len(t.readings), rule, allowed)
	v.Problems = append(v.Problems, wrong...)
}

// describe says how far off each kind of phase is.
func (t *tally) describe(v *Verdict) {
	offs := make(map[string][]time.Duration)
	var phases []string
	for _, r := range t.readings {
		if offs[r.phase] == nil {
			phases = append(phases, r.phase)
		}
		if !r.missing {
			offs[r.phase] = append(offs[r.phase], r.off())
		}
	}
	for _, phase := range phases {
		if all := offs[phase]; len(all) > 0 {
			slices.Sort(all)
			v.Note("%s: %d, off by %+.3f to %+.3f, median %+.3f", phase, len(all), all[0].Seconds(),
				all[len(all)-1].Seconds(), all[len(all)/2].Seconds())
		}
	}
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "…"
	}
	return t.UTC().Format("15:04:05.000")
}
