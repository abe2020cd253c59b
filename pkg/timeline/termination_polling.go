package timeline

import (
	"slices"
	"time"
)

const (
	// queryStopping is the interval between requests to the runtime while containers are likely to stop. Containers
	// are likely to stop in the first seconds of the termination and after the end of the grace period. The interval
	// is short, because the kubelet soon removes stopped containers.
	queryStopping = time.Second
	// queryWaiting is the interval between requests during a long grace period.
	queryWaiting = 5 * time.Second
	// stopsSoon is the time within which most containers stop after a deletion request.
	stopsSoon = 10 * time.Second
	// stopsLate is a period after the end of the grace period. During this period, the runtime's facts are still
	// likely to change.
	stopsLate = 30 * time.Second
	// queryStuck is the interval between requests for a pod whose grace period ended more than queryStuckAfter ago.
	queryStuck, queryStuckAfter = time.Minute, 10 * time.Minute
)

// QueryInterval returns the interval at which the agent should query the runtime about the pod. QueryInterval returns 0
// if the runtime has reported all facts.
func (e *TerminationEvidence) QueryInterval(now time.Time) time.Duration {
	if e.Over() || e.sandboxDown != 0 && !slices.ContainsFunc(e.stops, stopEvidence.mayStillRun) {
		return 0
	}
	since := now.Sub(e.learnedAt.time())
	if since < stopsSoon || since > e.grace-queryStopping && since < e.grace+stopsLate {
		return queryStopping
	}
	if since > e.grace+queryStuckAfter {
		return queryStuck
	}
	return queryWaiting
}

// mayStillRun reports whether a container ran and no source has reported its end yet.
func (s stopEvidence) mayStillRun() bool {
	return s.finished == 0 && s.statusAt == 0 && s.seenRunning != 0
}
