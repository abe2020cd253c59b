package main

import (
	"sync"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// deliveries calls the function "reported" for each start-up after every sink has written, sent or dropped the
// start-up.
type deliveries struct {
	sinks    int // number of sinks; constant after the first start-up
	reported func(timeline.Timeline)

	mu sync.Mutex
	// missing maps the UID of a pod to the number of sinks that have not yet written, sent or dropped the pod's
	// start-up. A start-up has no entry until the first sink has written, sent or dropped it.
	missing map[string]int
}

func newDeliveries(reported func(timeline.Timeline)) *deliveries {
	return &deliveries{reported: reported, missing: map[string]int{}}
}

// addSink registers a sink. When the sink has written, sent or dropped a start-up, it must call the returned function
// once. If the sink drops a start-up because the agent stops, the sink must not call the function. The next agent
// can then report the start-up.
func (r *deliveries) addSink() func(timeline.Timeline) {
	r.sinks++
	return r.sinkDone
}

// receive handles each completed start-up. If the agent has no sinks, receive calls the function "reported"
// immediately.
func (r *deliveries) receive(t timeline.Timeline) {
	if r.sinks == 0 {
		r.reported(t)
	}
}

func (r *deliveries) sinkDone(t timeline.Timeline) {
	if r.recordSink(t.UID) {
		r.reported(t)
	}
}

// recordSink counts one more sink that has written, sent or dropped the start-up of a pod. The result is true if this
// sink was the last one.
func (r *deliveries) recordSink(uid string) bool {
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
