package main

import (
	"sync"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// The type "reports" calls a function for each start-up that all sinks of the agent have finished.
type reports struct {
	sinks    int // number of sinks; constant after the first start-up
	reported func(timeline.Timeline)

	mu      sync.Mutex
	missing map[string]int // number of unfinished sinks by pod UID; set when the first sink finishes
}

func newReports(reported func(timeline.Timeline)) *reports {
	return &reports{reported: reported, missing: map[string]int{}}
}

// The method "sink" registers a sink. The sink must call the returned function for each start-up that the sink has
// finished.
func (r *reports) sink() func(timeline.Timeline) {
	r.sinks++
	return r.through
}

// The method "settled" receives each completed start-up. Without sinks, the start-up counts as reported immediately.
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

// The method "last" records that one more sink has finished a pod's start-up. The result is true if all sinks have now
// finished the pod's start-up.
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
