// Package pulse aligns the periodic work of the agent. The work of one wake-up takes about ten microseconds of CPU
// time. But after a sleep, the wake-up itself takes about a hundred microseconds, because the process's data has left
// the CPU's caches. Therefore, the agent does all periodic work at the same instants.
package pulse

import "time"

// Until returns the time from now until the next pulse. The pulses are the instants at which the wall clock shows a
// whole number of intervals since the start of year 1. If the next pulse is less than half an interval away, Until
// skips this pulse. Otherwise, a timer that fires slightly too early would fire again immediately. The interval must be
// positive.
func Until(now time.Time, interval time.Duration) time.Duration {
	now = now.Round(0) // the wall clock without the monotonic clock
	wait := now.Truncate(interval).Add(interval).Sub(now)
	if wait < interval/2 {
		wait += interval
	}
	return wait
}
