package podwatch

import "time"

// EventsStats counts what Events does.
type EventsStats struct {
	Open    int           // watches that are open now
	Waiting int           // wanted pods of which no watch has a slot
	Opened  uint64        // watches that the API server accepted so far
	OpenFor time.Duration // total time that watches were open, including those that still are
	// Received is how many Events arrived through watches, including Events about other pods and
	// those that every new watch repeats.
	Received uint64
	// Refused counts those of them that were ignored, and those that were too large to read.
	Refused RefusedEvents
}

// RefusedEvents counts ignored Events by reason.
type RefusedEvents struct {
	Oversized uint64 // longer than any that the kubelet creates
	Pod       uint64 // the UID of a wanted pod, but another namespace, name or kind
	Host      uint64 // another host than in the pod's earlier Events, which named this node
}

// refusal selects a field of RefusedEvents.
type refusal func(*RefusedEvents)

func refusedOversized(r *RefusedEvents) { r.Oversized++ }
func refusedPod(r *RefusedEvents)       { r.Pod++ }
func refusedHost(r *RefusedEvents)      { r.Host++ }

// totals is what EventsStats sums up; guarded by the lock of Events.
type totals struct {
	open     map[*follower]struct{}
	opened   uint64
	openFor  time.Duration // of closed watches
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
		if !p.own.hasSlot() && !p.shared.hasSlot() {
			stats.Waiting++
		}
	}
	return stats
}

// opened notes that the API server accepted the watch.
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

// proved notes that a watch has delivered all existing Events, for a shared watch that waits for
// that.
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
