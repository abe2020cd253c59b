package timeline

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

const (
	// maxClockSets is the maximum number of changes in a ClockLog. The log keeps the latest changes. The agent follows
	// a start-up for at most one hour. So the log lacks a change during a start-up only if the clock is set more
	// than four times a minute.
	maxClockSets = 256
	// leastClockSet is the smallest change of the clock that makes the phases of a start-up unclear. A smaller change
	// moves a timestamp by less than the tolerance durationSlack, so it only widens the error bounds.
	leastClockSet = durationSlack
	// watchMost is certainly longer than the time that an open watch needs to deliver a change.
	watchMost = time.Minute
	// MissingClock is an entry in the field Missing of a Timeline or a Termination. It states that the node's clock was
	// set by at least leastClockSet in total.
	MissingClock = "clock"
)

// ClockLog records the changes of the node's clock. The list of changes is sorted and contains each change once, so it
// does not depend on the order or the repetition of the observations. ClockLog is not safe for concurrent use. The zero
// value is an empty log.
type ClockLog struct {
	sets   []ClockSet // sorted by compareClockSets
	latest time.Time  // field ArrivedAt of the change that Observe added last
}

// Observe adds a change of the clock and reports whether the change was new. Observe ignores other observations.
func (l *ClockLog) Observe(o Observation) (news bool) {
	set, ok := o.(ClockSet)
	if !ok || set.By == 0 {
		return false
	}
	i, known := slices.BinarySearchFunc(l.sets, set, compareClockSets)
	if known {
		return false
	}
	if len(l.sets) == maxClockSets {
		if i == 0 {
			return false
		}
		l.sets = slices.Delete(l.sets, 0, 1)
		i--
	}
	l.sets, l.latest = slices.Insert(l.sets, i, set), set.ArrivedAt
	return true
}

func compareClockSets(a, b ClockSet) int {
	return cmp.Or(a.ArrivedAt.Compare(b.ArrivedAt), cmp.Compare(a.By, b.By))
}

// Sets returns the changes in the log.
func (l *ClockLog) Sets() []ClockSet { return slices.Clone(l.sets) }

// ApplyTo applies the changes in the log to new evidence. The argument "first" is the first observation in the
// evidence. A clock that is set back shows the same times again. So the evidence cannot show whether a start-up began
// before or after such a change. An open watch delivers a pod within milliseconds. So if an open watch delivered the
// first observation more than watchMost after the clock was set back, ApplyTo leaves out this change. If the watch
// delivered the first observation more than watchMost after the change that Observe added last, ApplyTo leaves out all
// changes.
func (l *ClockLog) ApplyTo(evidence interface{ Apply(Observation) bool }, first PodSeen) {
	live := first.Live && first.Pod.ReadAt.IsZero() // a static pod's mirror object can arrive long after the start-up
	if live && first.ArrivedAt.After(l.latest.Add(watchMost)) {
		return
	}
	for _, set := range l.sets {
		if set.By > 0 || !live || !first.ArrivedAt.After(l.moved(set.ArrivedAt, watchMost)) {
			evidence.Apply(set)
		}
	}
}

// ChangedBetween returns the sum of the sizes of all changes that might have happened between two events. The arguments
// are the times that the clock showed at the two events. Each time can be truncated to seconds. If the clock was set
// back, it can have shown the time of an event twice. ChangedBetween then cannot distinguish whether the event happened
// before or after the change. So ChangedBetween assumes that the change happened between the two events.
func (l *ClockLog) ChangedBetween(from, until time.Time) (sum time.Duration) {
	if len(l.sets) == 0 {
		return 0
	}
	sets := slices.Clone(l.sets)
	for {
		i := slices.IndexFunc(sets, func(s ClockSet) bool {
			low, high := s.readings()
			return from.Before(high.Add(time.Second)) && until.After(low.Add(-time.Second))
		})
		if i < 0 {
			return sum
		}
		sum = addBounded(sum, sets[i].By.Abs())
		if low, high := sets[i].readings(); sets[i].By < 0 {
			// This change set the clock back. So if there was another change between the two events, the clock can have
			// shown a time before "from" or after "until" at that other change.
			from, until = earlier(low, from), later(high, until)
		}
		sets = slices.Delete(sets, i, i+1)
	}
}

// readings returns the times that the clock showed immediately before and after the change, the earlier time first.
func (o ClockSet) readings() (low, high time.Time) {
	before, after := o.ArrivedAt.Add(-o.By), o.ArrivedAt
	return earlier(after, before), later(before, after)
}

// moved returns the time at which the duration "length" had passed since the clock showed the time "from", converted to
// the clock's latest setting. moved ignores a change if the time "from" might be after the change.
func (l *ClockLog) moved(from time.Time, length time.Duration) time.Time {
	due := from.Add(length)
	for _, set := range l.sets {
		if from.Before(set.ArrivedAt) {
			due = due.Add(set.By)
		}
	}
	return due
}

// addBounded adds two durations that are not negative. If the sum is too large for a Duration, addBounded returns the
// largest Duration.
func addBounded(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// complete adjusts the timeline of a start-up during which the node's clock was set. No evidence shows which timestamps
// are from before a change. But the changes moved each timestamp by at most the sum of all changes. So complete adds
// this sum to all error bounds. If the sum is at least leastClockSet, the order of the timestamps is unclear too. Then
// complete replaces all phases by one phase, PhaseUnattributed.
func (l *ClockLog) complete(t *Timeline) {
	by := l.ChangedBetween(t.observableSince(), t.CreatedAt.Add(t.Total))
	if by == 0 {
		return
	}
	t.TotalError = addBounded(t.TotalError, by)
	for i := range t.Milestones {
		m := &t.Milestones[i]
		if !m.Earliest.IsZero() {
			m.Earliest = m.Earliest.Add(-by)
		}
		if !m.Latest.IsZero() {
			m.Latest = m.Latest.Add(by)
		}
	}
	for i := range t.Pulls {
		t.Pulls[i].clockChanged(by)
	}
	if by < leastClockSet {
		widen(t.Phases, by)
		return
	}
	t.Phases = joined(t.Phases, t.TotalError)
	t.Missing, t.Incomplete = append(t.Missing, MissingClock), true
	t.InitializedAt, t.ReadyAt = time.Time{}, time.Time{}
	for i := range t.Reached.Containers {
		c := &t.Reached.Containers[i]
		c.RunningAt, c.StartedAt, c.ReadyAt, c.SucceededAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	}
}

// ClockWasSet reports whether the node's clock was set during the start-up, so that the phases and the duration of
// the start-up are unclear.
func (t Timeline) ClockWasSet() bool { return slices.Contains(t.Missing, MissingClock) }

// observableSince returns the time from which the node's clock can affect the timeline. All earlier times of the
// timeline come from the control plane's clock.
func (t *Timeline) observableSince() time.Time {
	for _, m := range t.Milestones {
		if m.Milestone == MilestoneScheduled && !m.Earliest.IsZero() {
			return m.Earliest
		}
	}
	return t.CreatedAt
}

// widen adds a duration to the error bound of each phase.
func widen(phases []Span, by time.Duration) {
	for i := range phases {
		phases[i].Error = addBounded(phases[i].Error, by)
	}
}

// joined returns one phase of unknown cause for the time of all given phases.
func joined(phases []Span, bound time.Duration) []Span {
	if len(phases) == 0 {
		return phases
	}
	var set int
	for _, s := range phases {
		for _, source := range s.Sources {
			set |= 1 << slices.Index(sourcesByTrust[:], source)
		}
	}
	last := phases[len(phases)-1]
	return []Span{{Phase: PhaseUnattributed, Cause: CauseUnknown, StartAt: phases[0].StartAt, EndAt: last.EndAt,
		Error: bound, Sources: sourceLists[set], Open: last.Open}}
}

// clockChanged adjusts a pull during which the node's clock was set. The argument "by" is the sum of all changes.
// If the kubelet reported how long the pull took, the duration stays correct, because the kubelet measures it with the
// monotonic clock. Otherwise, clockChanged adds the sum to the error bound. If the order of the timestamps is
// unclear, clockChanged removes all facts that depend on this order.
func (p *Pull) clockChanged(by time.Duration) {
	unclear := by >= leastClockSet
	bound := addBounded(p.Error, by)
	if unclear && p.reportedError > 0 {
		bound = min(bound, max(p.Error, p.reportedError)) // without Queue, the error bound of Queue no longer matters
	}
	if p.Timed || p.Error > 0 {
		p.Error = bound
	}
	if !unclear {
		return
	}
	p.RequestedAt, p.DownloadedAt, p.Queue, p.QueueTimed = time.Time{}, time.Time{}, 0, false
	p.Layers, p.Resumed = nil, false
	if p.Timed = p.Timed && p.Error <= p.Pull; !p.Timed {
		p.StartedAt, p.Pull, p.Error = time.Time{}, 0, 0
	}
	if p.Outcome != imagepull.OutcomeFailed && p.Outcome != imagepull.OutcomePulling {
		p.Outcome = imagepull.OutcomeUnknown
	}
}
