package timeline

import (
	"slices"
	"time"
)

const (
	// askStopping is how often the runtime is asked while something is likely to happen: in the first seconds, and from when the
	// grace period is about to be over. The kubelet removes what has stopped soon after.
	askStopping = time.Second
	// askWaiting is how often it is asked in a long grace period.
	askWaiting = 5 * time.Second
	// stopsSoon is how long after the deletion most containers have stopped.
	stopsSoon = 10 * time.Second
	// stopsLate is how long after the grace period something is still likely to happen.
	stopsLate = 30 * time.Second
	// askStuck is how often it is asked about a pod that should have stopped askStuckAfter ago.
	askStuck, askStuckAfter = time.Minute, 10 * time.Minute
)

// AskEvery is how often the runtime is worth a question now; 0 when it has told all.
func (e *Ending) AskEvery(now time.Time) time.Duration {
	if e.Over() || e.sandboxDown != 0 && !slices.ContainsFunc(e.stops, stopEvidence.open) {
		return 0
	}
	since := now.Sub(e.learnedAt.time())
	if since < stopsSoon || since > e.grace-askStopping && since < e.grace+stopsLate {
		return askStopping
	}
	if since > e.grace+askStuckAfter {
		return askStuck
	}
	return askWaiting
}

// open says that the runtime has not told when a container that ran stopped.
func (s stopEvidence) open() bool { return s.finished == 0 && s.statusAt == 0 && s.seenRunning != 0 }
