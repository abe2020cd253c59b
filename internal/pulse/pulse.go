// Package pulse aligns periodic work of the agent to common instants, so that the agent wakes up less often. A wake-up
// after a sleep takes about a hundred microseconds of CPU time, because the process's data has left the CPU's caches.
// The work after a wake-up takes only about ten microseconds.
package pulse

import "time"

// Until returns the time from now until the next pulse. Pulses are instants on the wall clock. At a pulse, the time
// since the start of year 1 is a multiple of the interval. If the next pulse is less than half an interval away, Until
// skips this pulse. If Until did not skip this pulse, a timer that fires slightly before a pulse would fire again at
// this pulse. The interval must be positive.
func Until(now time.Time, interval time.Duration) time.Duration {
	now = now.Round(0) // remove the monotonic clock reading, so that only the wall clock counts
	wait := now.Truncate(interval).Add(interval).Sub(now)
	if wait < interval/2 {
		wait += interval
	}
	return wait
}
