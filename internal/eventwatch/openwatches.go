package eventwatch

import "time"

// openTimes measures how long watches were open. The lock of Source guards openTimes.
type openTimes struct {
	open   map[*follower]struct{}
	closed time.Duration // total time for which the closed watches were open
}

// recordOpened records that the API server accepted the watch, and returns the current time.
func (s *Source) recordOpened(f *follower) time.Time {
	s.metrics.opened.Inc()
	s.metrics.open.Inc()
	s.mu.Lock()
	defer s.mu.Unlock()
	f.openedAt = s.config.Now()
	s.times.open[f] = struct{}{}
	return f.openedAt
}

// recordProven records that a watch has delivered all existing Events. If the watch serves a single pod, and this pod
// also has a shared watch, recordProven makes the shared watch update the list of its pods.
func (s *Source) recordProven(f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.proven = true
	if f.alone != nil && f.alone.shared != nil {
		f.alone.shared.refresh()
	}
}

func (s *Source) recordClosed(f *follower) {
	s.metrics.open.Dec()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times.closed += s.config.Now().Sub(f.openedAt)
	delete(s.times.open, f)
	f.openedAt, f.proven = time.Time{}, false
}

// openFor returns the total time for which watches were open, including the watches that are still open.
func (s *Source) openFor() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := s.times.closed
	for f := range s.times.open {
		total += s.config.Now().Sub(f.openedAt)
	}
	return total
}
