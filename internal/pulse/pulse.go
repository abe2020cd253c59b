// Package pulse aligns the periodic work of the agent: the agent does all periodic work at the same instants, so that
// it wakes up less often. A wake-up after a sleep takes about a hundred microseconds of CPU time, because the process's
// data has left the CPU's caches. The work of one wake-up takes only about ten microseconds.
package pulse

import "time"

// Until returns the time from now until the next pulse. The pulses are the instants at which the wall clock shows a
// whole number of intervals since the start of year 1. If the next pulse is less than half an interval away, Until
// skips this pulse, so that a timer that fires slightly too early does not fire again immediately. The interval must be
// positive.
func Until(now time.Time, interval time.Duration) time.Duration {
	now = now.Round(0) // the wall clock without the monotonic clock
	wait := now.Truncate(interval).Add(interval).Sub(now)
	if wait < interval/2 {
		wait += interval
	}
	return wait
}
