package scenario

import (
	"fmt"
	"slices"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// The constant "exact" is the largest accepted difference between the true duration of a phase and the agent's
// duration. The constant applies to phases whose times come from the node's clock. The lab reads the true times from
// logs. The logs show the start of a phase some milliseconds late, and the end of a phase some milliseconds early. So
// the duration according to the logs can differ from the true duration by up to "exact".
const exact = 50 * time.Millisecond

// callLimit is the longest accepted delay between a call and the runtime's log line about this call. In the lab, the
// longest measured delay was 60 ms. The time that a pull waits in the pull queue is not a part of this delay.
const callLimit = 150 * time.Millisecond

// relistPeriod is the time between two lists of containers by the kubelet (pkg/kubelet/kubelet.go,
// genericPlegRelistPeriod).
const relistPeriod = time.Second

// On a very busy machine, a phase can take longer than its injected delay. injectorLimit is the largest accepted
// difference between the duration of the phase and the injected delay.
const injectorLimit = 5 * time.Second

// newReading returns a reading that contains only the truth about a phase. The method "read" adds the agent's values.
func newReading(pod string, k knownLength) reading {
	r := reading{pod: pod, phase: k.phase, container: k.container, then: k.then, injected: k.injected,
		happened: k.truth}
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

// happenedOtherwise returns an error if the injected fault did not happen as planned. In this case, the comparison of
// the agent's duration with the truth is not conclusive.
func (k knownLength) happenedOtherwise() error {
	switch truth := k.truth.Length(); {
	case truth < k.injected-exact:
		return fmt.Errorf("phase %q: the injected delay was %s, but the phase took only %s: the scenario is not "+
			"conclusive", k.phase, seconds(k.injected),
			seconds(truth))
	case k.injectorEnds && truth > k.injected+injectorLimit:
		return fmt.Errorf("phase %q: the injected delay was %s, but the phase took %s, which is too long: the "+
			"scenario is not conclusive", k.phase, seconds(k.injected),
			seconds(truth))
	}
	return nil
}

// reading contains the agent's values for one phase, and the truth about this phase.
type reading struct {
	pod, phase, container string
	then                  string
	injected              time.Duration
	happened              bench.Span    // true times
	begunEarlier          time.Duration // longest possible time from the phase's start to its first log line
	begunLater            time.Duration // longest possible time from the true start to the runtime's time of the start
	endedLater            time.Duration // longest possible time from the phase's last log line to its end
	waited                time.Duration // how long tasks waited for a CPU or the disk near the phase's start and end
	besideLateHook        bool          // the phase begins or ends with a hook's end that the kubelet reports late
	reported              bench.Span    // start and end of the phase according to the agent
	measured, stated      time.Duration
	missing               bool
	// mergedIn is the name of another phase of the agent's timeline. This other phase contains, or can contain, time
	// that belongs to the reading's phase.
	mergedIn string
	// holder is the duration of the phase "mergedIn". If the agent reports the reading's phase, the field "holder" is
	// zero.
	holder time.Duration
	// A group phase of the agent's timeline stands for several phases. The field "partly" is the total duration of the
	// group phases that can contain a part of the reading's phase.
	partly time.Duration
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
		return fmt.Errorf("phase %q: %w", r.phase, err)
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
			length, err := agent.Nanoseconds(holder.Seconds)
			if err != nil {
				return fmt.Errorf("read the duration of phase %q: %w", holder.Phase, err)
			}
			r.holder = length
		}
	}
	return nil
}

// readPart sets r.partly to the total duration of the group phases that can contain a part of the phase r.phase. For
// example, the group phase "unattributed" contains the time in which the runtime did not respond.
func (r *reading) readPart(timeline agent.Timeline) error {
	for _, p := range timeline.Phases {
		if r.missing || !p.IsGroup() || p.Container != r.container ||
			!slices.Contains(p.MergedWith, r.phase) || !meetsSpan(r.happened, p) {
			continue
		}
		length, err := agent.Nanoseconds(p.Seconds)
		if err != nil {
			return fmt.Errorf("read the duration of phase %q, which can contain a part of phase %q: %w", p.Phase,
				r.phase, err)
		}
		r.mergedIn = p.Phase
		r.partly += length
	}
	return nil
}

// readThen adds the duration of the phase r.then to r.measured, and the error bound of this phase to r.stated. The sum
// of the two error bounds is a valid error bound for the total duration of the two phases.
func (r *reading) readThen(timeline agent.Timeline) error {
	length, _, err := timeline.In(r.then, r.container)
	if err != nil {
		return err
	}
	stated, err := timeline.Stated(r.then, r.container)
	r.measured, r.stated = r.measured+length, r.stated+stated
	return err
}

// meetsSpan reports whether the phase "holder" of the timeline overlaps the true time span "happened". A gap of at most
// "exact" between the phase and the time span also counts as an overlap.
func meetsSpan(happened bench.Span, holder agent.Phase) bool {
	return !holder.StartAt.After(happened.EndAt.Add(exact)) && !holder.EndAt.Before(happened.StartAt.Add(-exact))
}

func (r reading) truth() time.Duration { return r.happened.Length() }

func (r reading) off() time.Duration { return r.measured - r.truth() }

// isMerged returns true if two conditions are true. First, the agent reports the phase only as a part of the group
// phase image_pull. Second, the true duration of the phase exceeds the duration of this group phase by at most "exact"
// plus r.waited. If containerd discards layers after unpacking, an agent may report only the group phase.
func (r reading) isMerged() bool {
	return r.missing && r.mergedIn == agent.ImagePull && r.truth() <= r.holder+exact+r.waited
}

// isAccurate reports whether the agent's duration of the phase is accurate enough. If tasks wait for a CPU or the disk,
// the log lines and the agent's evidence about the phase can be late. So r.waited increases the accepted difference.
func (r reading) isAccurate() bool { return !r.missing && r.off().Abs() <= exact+r.waited }

// isLateHook reports whether the phase is inaccurate only because the kubelet reported the end of a post-start hook
// late: only after the kubelet's next list of containers.
func (r reading) isLateHook() bool {
	return r.besideLateHook && !r.isAccurate() && r.holdsTruth() && r.off().Abs() <= relistPeriod+exact+r.waited
}

// holdsTruth reports whether the true duration lies within the agent's error bound. On a busy machine, a process needs
// time before its first log line, and between its last log line and its exit. holdsTruth accepts that the agent's
// duration includes these two times, because they belong to the phase.
func (r reading) holdsTruth() bool {
	bound := r.stated + exact
	return !r.missing && r.off() >= -bound-r.begunLater-r.partly && r.off() <= bound+r.begunEarlier+r.endedLater
}

func (r reading) String() string {
	what := r.pod + " " + r.phase
	if r.container != "" {
		what += " " + r.container
	}
	text := fmt.Sprintf("%s: injected %s, truth %s (%s), ", what, seconds(r.injected), seconds(r.truth()),
		ends(r.happened))
	switch {
	case r.mergedIn != "" && r.missing:
		return text + "the agent reports this phase only as part of " + r.mergedIn
	case r.missing:
		return text + "the agent does not report this phase"
	}
	return text + fmt.Sprintf("the agent measured %s (%s), difference %+.3f, error bound %s, tasks waited %s",
		seconds(r.measured), ends(r.reported), r.off().Seconds(), seconds(r.stated), seconds(r.waited))
}

func ends(s bench.Span) string { return clock(s.StartAt) + " to " + clock(s.EndAt) }
