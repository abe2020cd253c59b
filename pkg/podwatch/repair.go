package podwatch

import "time"

// The type listing holds the pods that the API server listed.
type listing struct {
	version  string            // version of the list
	versions map[string]string // versions of the pods, by UID
	keep     map[string]bool   // UIDs of the pods whose objects are needed
	objects  map[string]*arrival
}

// findings holds the results of one comparison.
type findings struct {
	at                    time.Time
	pods                  int
	missing, extra, stale int
}

// differences returns the UIDs of pods for which the list shows a state that the watch has not reported.
func (s *store) differences(list listing) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := map[string]bool{}
	for uid := range list.versions {
		if s.isMissing(uid, list) || s.isStale(uid, list) {
			open[uid] = true
		}
	}
	for uid := range s.seen {
		if s.isExtra(uid, list) {
			open[uid] = true
		}
	}
	return open
}

// isMissing reports whether a list contains a pod that the store does not contain. The watch can also have reported the
// removal of the pod after the list. A second list decides.
func (s *store) isMissing(uid string, list listing) bool {
	_, listed := list.versions[uid]
	_, seen := s.seen[uid]
	return listed && !seen
}

// isStale reports whether a list contains a later version of a pod than the watch has reported.
func (s *store) isStale(uid string, list listing) bool {
	_, seen := s.seen[uid]
	return seen && isBefore(s.ledger.versions[uid], list.versions[uid])
}

// isExtra reports whether a list lacks a pod that the watch had reported before.
func (s *store) isExtra(uid string, list listing) bool {
	_, listed := list.versions[uid]
	return !listed && isBefore(s.ledger.versions[uid], list.version)
}

// repair applies the differences that two lists show and that the watch did not report in the meantime.
func (s *store) repair(first, second listing, found *findings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.pods.config.Now()
	for uid := range second.keep {
		object := second.objects[uid]
		switch {
		case s.isMissing(uid, first) && object != nil:
			found.missing++
			s.ledger.removeTombstone(uid)
			s.observe(object, now, false)
		case s.isStale(uid, first) && object != nil:
			found.stale++
			s.observe(object, now, false)
		case s.isExtra(uid, first) && s.isExtra(uid, second):
			found.extra++
			s.gone(uid, now, false)
			s.ledger.addTombstone(uid)
		}
	}
}
