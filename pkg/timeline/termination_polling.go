package timeline

import (
	"slices"
	"time"
)

const (
	// askStopping is the interval between requests to the runtime while containers are likely to stop: in the first
	// seconds of the termination, and after the end of the grace period. The interval is short, because the kubelet
	// soon removes stopped containers.
	askStopping = time.Second
	// askWaiting is the interval between requests during a long grace period.
	askWaiting = 5 * time.Second
	// stopsSoon is the time within which most containers stop after a deletion request.
	stopsSoon = 10 * time.Second
	// stopsLate is how long the runtime's facts are still likely to change after the end of the grace period.
	stopsLate = 30 * time.Second
	// askStuck is the interval between requests for a pod whose grace period ended more than askStuckAfter ago.
	askStuck, askStuckAfter = time.Minute, 10 * time.Minute
)

// AskEvery returns the interval at which the agent should ask the runtime about the pod. AskEvery returns 0 if the
// runtime has reported all facts.
func (e *TerminationEvidence) AskEvery(now time.Time) time.Duration {
	if e.Over() || e.sandboxDown != 0 && !slices.ContainsFunc(e.stops, stopEvidence.mayStillRun) {
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

// mayStillRun reports whether a container ran and no source has reported its end yet.
func (s stopEvidence) mayStillRun() bool {
	return s.finished == 0 && s.statusAt == 0 && s.seenRunning != 0
}
