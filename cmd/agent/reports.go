package main

import (
	"sync"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// The type "reports" calls a function for each start-up after every sink of the agent has written, sent or dropped the
// start-up.
type reports struct {
	sinks    int // number of sinks; constant after the first start-up
	reported func(timeline.Timeline)

	mu sync.Mutex
	// The field "missing" holds, by pod UID, how many sinks have not yet written, sent or dropped the pod's start-up.
	// Before the first sink has done so, the start-up has no entry.
	missing map[string]int
}

func newReports(reported func(timeline.Timeline)) *reports {
	return &reports{reported: reported, missing: map[string]int{}}
}

// The method "sink" registers a sink. The sink must call the returned function once for each start-up, after the sink
// has written, sent or dropped the start-up.
func (r *reports) sink() func(timeline.Timeline) {
	r.sinks++
	return r.through
}

// The method "settled" receives each completed start-up. If the agent has no sinks, the method calls the function
// "reported" immediately.
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

// The method "last" records that one more sink has written, sent or dropped the start-up of a pod. The result is true
// if this sink was the last one.
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
