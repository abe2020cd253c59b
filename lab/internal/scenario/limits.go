package scenario

import (
	"fmt"
	"slices"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// exact is how far a phase on the node's clock may be from the truth. It is also how far the truth itself
// is from the phase's definition: who dated it stood some milliseconds inside of the phase.
const exact = 50 * time.Millisecond

// callLimit is the longest that a busy machine takes to have the runtime note a call (60 ms were seen), however long
// ago kubelet said that the call was to come: a pull may have waited in a queue in between.
const callLimit = 150 * time.Millisecond

// injectorLimit is the longest that a phase which the injector ends may take beside what was injected, on a machine as
// busy as can be.
const injectorLimit = 5 * time.Second

// newReading is what is known of a phase, without what the agent tells.
func newReading(pod string, k knownLength) reading {
	r := reading{pod: pod, phase: k.phase, container: k.container, then: k.then, injected: k.injected, happened: k.truth}
	if !k.begunBefore.IsZero() {
		r.begunEarlier = min(max(0, k.truth.StartAt.Sub(k.begunBefore)), callLimit)
	}
	if !k.begunBy.IsZero() {
		r.begunLater = min(max(0, k.begunBy.Sub(k.truth.StartAt)), callLimit)
	}
	if !k.endedBy.IsZero() {
		r.endedLater = max(0, k.endedBy.Sub(k.truth.EndAt))
	}
	return r
}

// happenedOtherwise says that a fault was not injected as planned, so that what the agent makes of it shows nothing.
func (k knownLength) happenedOtherwise() error {
	switch truth := k.truth.Length(); {
	case truth < k.injected-exact:
		return fmt.Errorf("phase %s: %s were injected, but it took %s", k.phase, seconds(k.injected), seconds(truth))
	case k.injectorEnds && truth > k.injected+injectorLimit:
		return fmt.Errorf("phase %s: %s were injected, and it took %s", k.phase, seconds(k.injected), seconds(truth))
	}
	return nil
}

// reading is one phase as the agent tells it beside the truth.
type reading struct {
	pod, phase, container string
	then                  string
	injected              time.Duration
	happened              bench.Span    // the truth
	begunEarlier          time.Duration // at most, by which the beginning may have been before its first word
	begunLater            time.Duration // at most, by which who stamped it knew of it after that
	endedLater            time.Duration // at most, by which the end may have been after its last word
	waited                time.Duration // by tasks for a processor or the disk, near both ends
	reported              bench.Span    // by the agent: the ends of the phase
	measured, stated      time.Duration
	missing               bool
	mergedIn              string        // the phase that says it holds this missing one, or a part of it
	partly                time.Duration // how long that is, if it holds a part
}

func (r *reading) read(timeline agent.Timeline) error {
	measured, there, err := timeline.In(r.phase, r.container)
	r.measured, r.missing = measured, !there
	if err == nil {
		r.stated, err = timeline.Stated(r.phase, r.container)
	}
	if err == nil && r.then != "" && !r.missing {
		err = r.readThen(timeline)
	}
	if err != nil {
		return fmt.Errorf("phase %s: %w", r.phase, err)
	}
	for _, p := range timeline.Phases {
		if r.container != "" && p.Container != r.container {
			continue
		}
		switch p.Phase {
		case r.phase:
			r.reported = bench.Span{StartAt: p.StartAt, EndAt: p.EndAt}
		case r.then:
			r.reported.EndAt = p.EndAt
		}
	}
	if err := r.readPart(timeline); err != nil {
		return err
	}
	if r.missing {
		if holder, found := timeline.MergedIn(r.phase); found && meetsSpan(r.happened, holder) {
			r.mergedIn = holder.Phase
		}
	}
	return nil
}

// readPart adds the stretches that may be of the phase, as while the runtime was silent, and that nobody is blamed for.
func (r *reading) readPart(timeline agent.Timeline) error {
	for _, p := range timeline.Phases {
		if r.missing || p.Phase != "unattributed" || p.Container != r.container || !slices.Contains(p.MergedWith, r.phase) || !meetsSpan(r.happened, p) {
			continue
		}
		length, err := agent.Nanoseconds(p.Seconds)
		if err != nil {
			return fmt.Errorf("phase %s, with %s: %w", p.Phase, r.phase, err)
		}
		r.mergedIn = p.Phase
		r.partly += length
	}
	return nil
}

// readThen adds the phase that goes on with it. Both together are at most as far off as the two errors add up to.
func (r *reading) readThen(timeline agent.Timeline) error {
	length, _, err := timeline.In(r.then, r.container)
	if err != nil {
		return err
	}
	stated, err := timeline.Stated(r.then, r.container)
	r.measured, r.stated = r.measured+length, r.stated+stated
	return err
}

// meetsSpan says that a phase that claims to hold another one lies where that happened.
func meetsSpan(happened bench.Span, holder agent.Phase) bool {
	return !holder.StartAt.After(happened.EndAt.Add(exact)) && !holder.EndAt.Before(happened.StartAt.Add(-exact))
}

func (r reading) truth() time.Duration { return r.happened.Length() }

func (r reading) off() time.Duration { return r.measured - r.truth() }

// within says that the agent is as exact as it has to be. Where tasks waited near an end, who dates the truth did, or the component
// that the agent reads: the two may be as much further apart.
func (r reading) within() bool { return !r.missing && r.off().Abs() <= exact+r.waited }

// kept says that the agent kept its own word: the truth lies inside the error it stated. Where a process on
// a busy machine takes its time before its first word, or between its last one and its end, that time is part of the phase.
func (r reading) kept() bool {
	bound := r.stated + exact
	return !r.missing && r.off() >= -bound-r.begunLater-r.partly && r.off() <= bound+r.begunEarlier+r.endedLater
}

func (r reading) String() string {
	what := r.pod + " " + r.phase
	if r.container != "" {
		what += " " + r.container
	}
	text := fmt.Sprintf("%s: injected %s, truth %s (%s), ", what, seconds(r.injected), seconds(r.truth()), ends(r.happened))
	switch {
	case r.mergedIn != "" && r.missing:
		return text + "told only as part of " + r.mergedIn
	case r.missing:
		return text + "the agent does not tell of it"
	}
	return text + fmt.Sprintf("measured %s (%s), off %+.3f, stated error %s, tasks waited %s",
		seconds(r.measured), ends(r.reported), r.off().Seconds(), seconds(r.stated), seconds(r.waited))
}

func ends(s bench.Span) string { return clock(s.StartAt) + " to " + clock(s.EndAt) }
