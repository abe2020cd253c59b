package main

import (
	"sync"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// reports finds out when a start-up counts as reported, which is when every sink of the agent has finished with it.
type reports struct {
	sinks    int // does not change once start-ups arrive
	reported func(timeline.Timeline)

	mu      sync.Mutex
	missing map[string]int // by pod UID: how many sinks have not finished, once one has
}

func newReports(reported func(timeline.Timeline)) *reports {
	return &reports{reported: reported, missing: map[string]int{}}
}

// sink adds a sink, which must call the returned function for each start-up that it has finished with.
func (r *reports) sink() func(timeline.Timeline) {
	r.sinks++
	return r.through
}

// settled takes a completed start-up. Without any sink, it is reported at once.
func (r *reports) settled(t timeline.Timeline) {
	if r.sinks == 0 {
		r.reported(t)
	}
}

func (r *reports) through(t timeline.Timeline) {
	if r.last(t.UID) {
		r.reported(t)
	}
}

// last notes that a sink has finished with a pod's start-up, and reports whether it was the last one.
func (r *reports) last(uid string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	missing, known := r.missing[uid]
	if !known {
		missing = r.sinks
	}
	if missing--; missing > 0 {
		r.missing[uid] = missing
		return false
	}
	delete(r.missing, uid)
	return true
}
