package main

import (
	"sync"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// reports knows when a start-up is reported: when every sink that the agent has is through with it.
type reports struct {
	sinks    int // none is added once start-ups are
	reported func(timeline.Timeline)

	mu      sync.Mutex
	missing map[string]int // by pod UID: of start-ups that a sink is through with, the sinks that are not
}

func newReports(reported func(timeline.Timeline)) *reports {
	return &reports{reported: reported, missing: map[string]int{}}
}

// sink adds one, which is to call the returned function for each start-up that it is through with.
func (r *reports) sink() func(timeline.Timeline) {
	r.sinks++
	return r.through
}

// settled takes a start-up that is over, which is all there is to wait for without any sink.
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

// last notes that one more sink is through with a pod's start-up, and says whether none is missing.
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
