package eventwatch

import "time"

// Stats counts what Source does.
type Stats struct {
	Open    int           // watches that are open now
	Waiting int           // requested pods of which no watch has a slot
	Opened  uint64        // watches that the API server accepted so far
	OpenFor time.Duration // total time that watches were open, including those that still are
	// Received is how many Events arrived through watches, including Events about other pods and
	// those that every new watch repeats.
	Received uint64
	// Refused counts those of them that were ignored, and those that were too large to read.
	Refused Refused
}

// Refused counts ignored Events by reason.
type Refused struct {
	Oversized uint64 // longer than any that the kubelet creates
	Pod       uint64 // the UID of a requested pod, but another namespace, name or kind
	Host      uint64 // another host than in the pod's earlier Events, which named this node
}

// refusal selects a field of Refused.
type refusal func(*Refused)

func refusedOversized(r *Refused) { r.Oversized++ }
func refusedPod(r *Refused)       { r.Pod++ }
func refusedHost(r *Refused)      { r.Host++ }

// totals is what Stats sums up; guarded by the lock of Source.
type totals struct {
	open     map[*follower]struct{}
	opened   uint64
	openFor  time.Duration // of closed watches
	received uint64
	refused  Refused
}

// Stats may be called from any goroutine.
func (s *Source) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := Stats{
		Open: len(s.totals.open), Opened: s.totals.opened, OpenFor: s.totals.openFor,
		Received: s.totals.received, Refused: s.totals.refused,
	}
	for f := range s.totals.open {
		stats.OpenFor += s.config.Now().Sub(f.openedAt)
	}
	for _, p := range s.requests {
		if !p.own.hasSlot() && !p.shared.hasSlot() {
			stats.Waiting++
		}
	}
	return stats
}

// opened notes that the API server accepted the watch.
func (s *Source) opened(f *follower) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.openedAt = s.config.Now()
	if s.totals.open == nil {
		s.totals.open = map[*follower]struct{}{}
	}
	s.totals.open[f] = struct{}{}
	s.totals.opened++
	return f.openedAt
}

// proved notes that a watch has delivered all existing Events, for a shared watch that waits for
// that.
func (s *Source) proved(f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.proven = true
	if f.alone != nil && f.alone.shared != nil {
		f.alone.shared.nudge()
	}
}

func (s *Source) closed(f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.openFor += s.config.Now().Sub(f.openedAt)
	delete(s.totals.open, f)
	f.openedAt, f.proven = time.Time{}, false
}

func (s *Source) received() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.received++
}

func (s *Source) refuse(why refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	why(&s.totals.refused)
}
