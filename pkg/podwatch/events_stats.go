package podwatch

import "time"

// EventsStats counts what Events does.
type EventsStats struct {
	Open    int           // watches that are open now
	Waiting int           // pods wanted of which no watch has a place
	Opened  uint64        // watches that the API server accepted so far
	OpenFor time.Duration // for how long they were open, all together, those that still are included
	// Received is how many Events watches have brought, those about other pods and those that every new watch
	// repeats included: what they cost.
	Received uint64
	// Refused are, of them, those that counted for nothing, and those that were too large to be read.
	Refused RefusedEvents
}

// RefusedEvents counts Events by why they counted for nothing.
type RefusedEvents struct {
	Oversized uint64 // longer than any that kubelet makes
	Pod       uint64 // the UID of a wanted pod, but another namespace, name or kind
	Host      uint64 // another host than that of the pod's earlier Events, which is this node
}

// refusal is a field of RefusedEvents.
type refusal func(*RefusedEvents)

func refusedOversized(r *RefusedEvents) { r.Oversized++ }
func refusedPod(r *RefusedEvents)       { r.Pod++ }
func refusedHost(r *RefusedEvents)      { r.Host++ }

// totals is what EventsStats sums up; guarded by the lock of Events.
type totals struct {
	open     map[*follower]struct{}
	opened   uint64
	openFor  time.Duration // of watches that are closed
	received uint64
	refused  RefusedEvents
}

// Stats may be called from any goroutine.
func (e *Events) Stats() EventsStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	stats := EventsStats{
		Open: len(e.totals.open), Opened: e.totals.opened, OpenFor: e.totals.openFor,
		Received: e.totals.received, Refused: e.totals.refused,
	}
	for f := range e.totals.open {
		stats.OpenFor += e.config.Now().Sub(f.openedAt)
	}
	for _, p := range e.wanted {
		if !p.own.hasPlace() && !p.shared.hasPlace() {
			stats.Waiting++
		}
	}
	return stats
}

// opened notes that the API server lets us watch.
func (e *Events) opened(f *follower) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	f.openedAt = e.config.Now()
	if e.totals.open == nil {
		e.totals.open = map[*follower]struct{}{}
	}
	e.totals.open[f] = struct{}{}
	e.totals.opened++
	return f.openedAt
}

// proved notes that a watch has told all there was, for a shared watch that would like to know.
func (e *Events) proved(f *follower) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f.proven = true
	if f.alone != nil && f.alone.shared != nil {
		f.alone.shared.nudge()
	}
}

func (e *Events) closed(f *follower) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.totals.openFor += e.config.Now().Sub(f.openedAt)
	delete(e.totals.open, f)
	f.openedAt, f.proven = time.Time{}, false
}

func (e *Events) received() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.totals.received++
}

func (e *Events) refuse(why refusal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	why(&e.totals.refused)
}
