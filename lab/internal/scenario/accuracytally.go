package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/matrix"
)

// tally compares many timelines with the known truth about their pods.
type tally struct {
	readings []reading
	discards bool // true if containerd discards layers; the agent may then merge the phases pull and unpack
	// lateHooks is true if the kubelet reports the end of the last container's post-start hook up to a second late.
	lateHooks bool
	waits     waitSamplers // if empty, the tally accepts no larger differences on a busy machine
	absences  []bench.Span // periods in which no agent ran; for such a period, the agent may merge phases
	stamps    int          // number of compared milestones and spans, whose times come from the control plane's clock
	refuted   []string     // one message for each milestone or span that is missing or contradicts the truth
	problems  []string

	widestMilestone time.Duration // widest interval that the agent states for a milestone
	widestSpan      time.Duration // largest error bound that the agent states for a span
}

// The control plane truncates its timestamps to seconds. Therefore, the agent's interval for the time of a milestone
// must not be longer than one second. The agent's error bound for a duration between two milestones must not be larger
// than two seconds. If the agent reports a clock skew, both limits are larger by this skew.
const (
	widestMilestone = time.Second
	widestSpan      = 2 * time.Second
)

// addTimeline compares one timeline with the truth about the pod.
func (t *tally) addTimeline(timeline agent.Timeline, k knownStartUp) {
	under := "" // name of the previous phase, if the current phase is merged into the previous phase; otherwise empty
	for i, length := range k.lengths {
		t.problem(k.pod, length.happenedOtherwise())
		mergedIn := under
		if under = ""; i+1 < len(k.lengths) {
			if both, ok := length.joinWith(k.lengths[i+1], timeline); ok {
				length, under = both, length.phase
			}
		}
		r := newReading(k.pod, length)
		r.besideLateHook = t.lateHooks && (length.isHookInMain() || i > 0 && k.lengths[i-1].isHookInMain())
		r.waited = t.waits.waitedNear(r.happened)
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
		if !there || !meetsRule(m.held, reported) {
			t.refuted = append(t.refuted,
				fmt.Sprintf("%s %s: the true interval is [%s, %s], but the agent reports [%s, %s]",
					k.pod, m.milestone,
					clock(m.held.StartAt), clock(m.held.EndAt), clock(reported.Earliest), clock(reported.Latest)))
			continue
		}
		if reported.Earliest.IsZero() || reported.Latest.IsZero() {
			t.problem(k.pod, fmt.Errorf("the interval of milestone %q lacks its start or its end", m.milestone))
			continue
		}
		width := reported.Latest.Sub(reported.Earliest)
		t.widestMilestone = max(t.widestMilestone, width)
		if width > widestMilestone+skew {
			t.problem(k.pod, fmt.Errorf("the interval of milestone %q has a length of %s s, want at most 1 s "+
				"plus the clock skew", m.milestone, seconds(width)))
		}
	}
	for _, s := range k.spans {
		t.stamps++
		measured, stated, err := s.read(timeline)
		t.problem(k.pod, err)
		if shortest, longest := s.possibleDurations(); measured+stated < shortest || measured-stated > longest {
			t.refuted = append(t.refuted,
				fmt.Sprintf("%s %s: the true duration lies in [%s, %s], but the agent reports %s with an error bound "+
					"of %s",
					k.pod, s.name(), seconds(shortest), seconds(longest), seconds(measured), seconds(stated)))
		}
		t.widestSpan = max(t.widestSpan, stated)
		if stated > widestSpan+skew {
			t.problem(k.pod, fmt.Errorf("%s: the agent states an error bound of %s s, want at most 2 s plus the clock "+
				"skew", s.name(), seconds(stated)))
		}
	}
}

// isHookInMain reports whether the phase is the post-start hook of the last container.
func (k knownLength) isHookInMain() bool {
	return k.phase == "post_start_hook" && k.container == mainName
}

// skewOf returns the largest clock skew that the agent reports. skewOf returns zero if the agent has not proven a skew.
func skewOf(timeline agent.Timeline) (time.Duration, error) {
	if timeline.ClockSkew == nil {
		return 0, nil
	}
	least, err := agent.Nanoseconds(timeline.ClockSkew.Least)
	if err != nil {
		return 0, fmt.Errorf("read clock_skew.least_seconds: %w", err)
	}
	most, err := agent.Nanoseconds(timeline.ClockSkew.Most)
	if err != nil {
		return 0, fmt.Errorf("read clock_skew.most_seconds: %w", err)
	}
	return max(least.Abs(), most.Abs()), nil
}

func (t *tally) problem(pod string, err error) {
	if err != nil {
		t.problems = append(t.problems, fmt.Sprintf("pod %s: %v", pod, err))
	}
}

// meetsRule reports whether the agent's interval for a milestone overlaps the true interval. The lab cannot measure the
// exact time of a milestone. So the true interval starts with a cause of the milestone, for example the start of an API
// call. The true interval ends with a consequence of the milestone, for example the end of this call. If the two
// intervals do not overlap, the agent is wrong. If the two intervals overlap, the agent is wrong by at most the length
// of the true interval. This length is usually some milliseconds.
func meetsRule(held bench.Span, reported agent.Milestone) bool {
	return (reported.Earliest.IsZero() || !reported.Earliest.After(held.EndAt)) &&
		(reported.Latest.IsZero() || !reported.Latest.Before(held.StartAt))
}

// possibleDurations returns the shortest and the longest possible duration of the span. The agent's duration may be
// outside this range, but only by at most the agent's error bound.
func (s knownSpan) possibleDurations() (shortest, longest time.Duration) {
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
			return 0, 0, fmt.Errorf("read total_seconds: %w", err)
		}
		if stated, err = agent.Nanoseconds(timeline.TotalError); err != nil {
			return 0, 0, fmt.Errorf("read total_error_seconds: %w", err)
		}
		return measured, stated, nil
	}
	measured, there, err := timeline.In(s.phase, "")
	if holder, merged := timeline.MergedIn(s.phase); err == nil && !there && merged {
		return s.readMerged(holder)
	}
	if err == nil && !there {
		err = fmt.Errorf("the timeline contains no phase %q", s.phase)
	}
	if err == nil {
		stated, err = timeline.Stated(s.phase, "")
	}
	return measured, stated, err
}

// readMerged returns the duration and the error bound of the group phase "holder". The group phase lists the span's
// phase in its field "merged_with".
func (s knownSpan) readMerged(holder agent.Phase) (measured, stated time.Duration, err error) {
	if measured, err = agent.Nanoseconds(holder.Seconds); err == nil {
		stated, err = agent.Nanoseconds(holder.Error)
	}
	if err != nil {
		err = fmt.Errorf("read the duration of phase %q, which contains phase %q: %w", holder.Phase, s.phase, err)
	}
	return measured, stated, err
}

// judgeExactness requires that at least 99 % of the phases are accurate. In addition, judgeExactness accepts each phase
// that is inaccurate only because the kubelet reported the end of a post-start hook late. judgeExactness also calls
// judgePromises.
func (t *tally) judgeExactness(v *Verdict) {
	allowed := len(t.readings) / 100
	for _, r := range t.readings {
		if r.isLateHook() {
			allowed++
		}
	}
	t.judgeShare(v, matrix.FigureExact, fmt.Sprintf("within %s of the truth", exact), allowed,
		func(r reading) bool { return r.isAccurate() || t.discards && r.isMerged() })
	for _, r := range t.readings {
		if r.isAccurate() && r.off().Abs() > exact {
			v.Note("accepted because tasks waited: %s", r)
		}
	}
	t.judgePromises(v)
	v.Figure(matrix.FigureWorst, "%d ms", t.percentile(99).Milliseconds())
}

// percentile returns a percentile of the absolute differences between the agent's durations and the true durations.
// percentile uses the nearest-rank method.
func (t *tally) percentile(p int) time.Duration {
	var offs []time.Duration
	for _, r := range t.readings {
		if !r.missing {
			offs = append(offs, r.off().Abs())
		}
	}
	if len(offs) == 0 {
		return 0
	}
	slices.Sort(offs)
	return offs[(len(offs)*p+99)/100-1]
}

// judgePromises checks the agent's error bounds. Every milestone and every span on the control plane's clock must agree
// with the truth within the agent's error bound. The agent must report every phase, or list the phase in the field
// "merged_with" of another phase. holdsTruth may return false for at most one percent of the phases. This one percent
// is allowed because the lab cannot always measure the truth accurately. For example, other work on a busy machine can
// delay the log line about an event.
func (t *tally) judgePromises(v *Verdict) {
	v.Compared += len(t.readings) + t.stamps
	merged, avoidable := 0, 0
	var names []string // of the merged phases
	for _, r := range t.readings {
		switch {
		case r.mergedIn != "":
			merged++
			names = append(names, r.phase)
			if (!t.discards || r.mergedIn != agent.ImagePull) && !t.agentWasAbsent(r.happened) {
				avoidable++
			}
			v.Note("merged: %s", r)
		case r.missing:
			v.Problem("the agent must report this phase: %s", r)
		}
	}
	t.judgeShare(v, matrix.FigureError, fmt.Sprintf("within the error bound and %s", exact), len(t.readings)/100,
		func(r reading) bool { return r.missing || r.holdsTruth() })
	for _, stamp := range t.refuted {
		v.Problem("the truth is outside the agent's error bound: %s", stamp)
	}
	v.Problems = append(v.Problems, t.problems...)
	v.Note("%d of %d control plane timestamps lie within the error bound", t.stamps-len(t.refuted), t.stamps)
	v.Note("the widest interval of a milestone is %s s, and the largest error bound of a duration is %s s",
		seconds(t.widestMilestone),
		seconds(t.widestSpan))
	v.Note("%d of %d phases are reported only as parts of other phases", merged, len(t.readings))
	v.Figure(matrix.FigureMerged, "%d of %d", merged, len(t.readings))
	if merged > 0 {
		slices.Sort(names)
		v.Figure(matrix.FigurePhases, "%s", strings.Join(slices.Compact(names), ", "))
	}
	// without this limit, an agent could pass without evidence: it could report every phase as part of another phase
	if 20*avoidable > len(t.readings) {
		v.Problem("%d of %d phases are reported only as parts of other phases although an agent ran, want at most "+
			"5 %%", avoidable, len(t.readings))
	}
	t.describe(v)
}

// agentWasAbsent reports whether a phase overlaps a period in which no agent ran.
func (t *tally) agentWasAbsent(phase bench.Span) bool {
	return slices.ContainsFunc(t.absences, func(a bench.Span) bool {
		return !phase.EndAt.Before(a.StartAt) && !phase.StartAt.After(a.EndAt)
	})
}

// judgeShare counts the wrong phases. A phase is wrong if the function "right" returns false. The times of all these
// phases come from the node's clock. If the number of wrong phases exceeds "allowed", judgeShare reports the wrong
// phases as problems. If the number is at most "allowed", judgeShare reports the wrong phases as notes. judgeShare also
// adds the share of correct phases to the verdict.
func (t *tally) judgeShare(v *Verdict, figure, rule string, allowed int, right func(reading) bool) {
	var wrong []string
	for _, r := range t.readings {
		if !right(r) {
			wrong = append(wrong, fmt.Sprintf("not %s: %s", rule, r))
		}
	}
	v.Note("%d of %d phases on the node's clock are %s", len(t.readings)-len(wrong), len(t.readings), rule)
	v.Figure(figure, "%d of %d", len(t.readings)-len(wrong), len(t.readings))
	if len(wrong) <= allowed {
		v.Notes = append(v.Notes, wrong...)
		return
	}
	v.Problem("%d of %d phases on the node's clock are not %s, want at most %d", len(wrong), len(t.readings), rule,
		allowed)
	v.Problems = append(v.Problems, wrong...)
}

// describe adds one note for each kind of phase. The note shows how much the agent's durations differ from the truth.
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
			v.Note("%s: %d phases, differences from %+.3f to %+.3f s, median %+.3f s", phase, len(all),
				all[0].Seconds(),
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
