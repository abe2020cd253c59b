package timeline

import "time"

// adjustToClock adjusts a termination during which the node's clock was set, in the same way as
// ClockLog.complete adjusts a start-up. The argument "from" is the earliest possible time of the deletion request. Only
// comparisons of timestamps show whether a container stopped before the request, by itself, or at the end of its grace
// period. So if the order of the timestamps is unclear, it is unknown how the containers stopped.
func (t *Termination) adjustToClock(l *ClockLog, from time.Time) {
	by := l.ChangedBetween(from, t.RequestedAt.Add(t.Total))
	if by == 0 {
		return
	}
	t.TotalError = addBounded(t.TotalError, by)
	unclear := by >= leastClockSet
	for i := range t.Stops {
		s := &t.Stops[i]
		switch {
		case unclear && s.How != StopRunning:
			s.How, s.Used, s.Error, s.Timed = StopUnknown, 0, 0, false
		case s.Timed:
			s.Error = addBounded(s.Error, by)
		}
	}
	if !unclear {
		widen(t.Phases, by)
		return
	}
	t.Phases, t.Missing = joined(t.Phases, t.TotalError), append(t.Missing, MissingClock)
}
