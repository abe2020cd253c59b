package timeline

import (
	"slices"
	"time"
)

const (
	// askStopping is the interval between questions to the runtime while a change is likely: in the first seconds,
	// and from the end of the grace period on. The kubelet removes stopped containers soon.
	askStopping = time.Second
	// askWaiting is the interval during a long grace period.
	askWaiting = 5 * time.Second
	// stopsSoon is how long after the deletion most containers have stopped.
	stopsSoon = 10 * time.Second
	// stopsLate is how long after the grace period a change is still likely.
	stopsLate = 30 * time.Second
	// askStuck is the interval for a pod that should have stopped askStuckAfter ago.
	askStuck, askStuckAfter = time.Minute, 10 * time.Minute
)

// AskEvery is the interval at which it is worth asking the runtime now; 0 if the runtime has reported everything.
func (e *TerminationEvidence) AskEvery(now time.Time) time.Duration {
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

// open reports whether the runtime has not yet reported the end of a container that ran.
func (s stopEvidence) open() bool { return s.finished == 0 && s.statusAt == 0 && s.seenRunning != 0 }
