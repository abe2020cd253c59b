package eventwatch

import "time"

// openTimes measures how long watches were open. The lock of Source guards openTimes.
type openTimes struct {
	open   map[*watcher]struct{}
	closed time.Duration // total open time of the watches that are closed now
}

// recordOpened records that the watch has opened, and returns the current time.
func (s *Source) recordOpened(w *watcher) time.Time {
	s.metrics.opened.Inc()
	s.metrics.open.Inc()
	s.mu.Lock()
	defer s.mu.Unlock()
	w.openedAt = s.config.Now()
	s.times.open[w] = struct{}{}
	s.followCost(w.namespace)
	return w.openedAt
}

// recordProven records that the watch w has delivered all existing Events. If w is the watch of a single pod, and a
// shared watch also serves this pod, recordProven makes the shared watch update its list of pods.
func (s *Source) recordProven(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.proven = true
	if w.alone != nil && w.alone.shared != nil {
		w.alone.shared.refresh()
	}
}

func (s *Source) recordClosed(w *watcher) {
	s.metrics.open.Dec()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times.closed += s.config.Now().Sub(w.openedAt)
	delete(s.times.open, w)
	w.openedAt, w.proven = time.Time{}, false
}

// openFor returns the total time for which watches were open, including the watches that are still open.
func (s *Source) openFor() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := s.times.closed
	for w := range s.times.open {
		total += s.config.Now().Sub(w.openedAt)
	}
	return total
}
