package eventwatch

import "time"

// These constants define when a namespace is wide. A wide namespace has many new Events, but few of these Events
// concern the requested pods of this node. The API server decodes each Event once for each watch of the namespace, and
// decoding an Event takes more CPU than sending the Event. So for the API server, one shared watch costs less than two
// watches on single pods. The agent, however, must decode every Event of a shared watch.
const (
	// wideSample is the number of Events after which the agent checks whether the namespace is wide.
	wideSample = 4096
	// A namespace is wide only if wideSample Events arrive within wideWithin.
	wideWithin = 10 * time.Second
	// A namespace is wide only if more than maxUseless Events arrive for each Event about a requested pod.
	maxUseless = 16
	// wideFor is how long a namespace counts as wide. During this time, the agent opens no shared watch of the
	// namespace.
	wideFor = 10 * time.Minute
)

// eventUsage counts the Events of one shared watch.
type eventUsage struct {
	since          time.Time
	received, used int
}

// isWasteful returns true if a watch delivered many Events in a short time, and few of these Events concerned a
// requested pod. When the count reaches the number "sample", isWasteful starts a new count.
func (u *eventUsage) isWasteful(sample int, now time.Time) bool {
	if u.received < sample {
		return false
	}
	wasteful := u.received > maxUseless*u.used && now.Sub(u.since) <= wideWithin
	*u = eventUsage{since: now}
	return wasteful
}

// isWide reports whether the pods of a namespace must not share a watch. The caller must hold the lock.
func (s *Source) isWide(namespace string) bool {
	until, ok := s.wide[namespace]
	if ok && !s.config.Now().Before(until) {
		delete(s.wide, namespace)
		ok = false
	}
	return ok
}

// unshare replaces a shared watch with watches on single pods. Each new watch begins where the shared watch ends, so no
// Event is lost.
func (s *Source) unshare(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config.Cluster || s.shared[w.namespace] != w {
		return
	}
	s.metrics.unshared.Inc()
	if len(s.wide) >= maxNamespaces {
		clear(s.wide)
	}
	s.wide[w.namespace] = s.config.Now().Add(wideFor)
	s.stopShared(w)
	for _, p := range w.pods {
		p.shared = nil
		if p.own == nil {
			s.enqueueOwn(p)
		}
	}
	s.refresh()
}

// reshare starts a shared watch for a namespace that no longer counts as wide. reshare has no effect if at most
// maxAlone pods of the namespace have their own watches. reshare takes the lock.
func (s *Source) reshare(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.alone == nil || s.config.Cluster || s.shared[w.namespace] != nil || s.isWide(w.namespace) ||
		s.requestsIn(w.namespace) <= maxAlone {
		return
	}
	s.startShared(w.namespace)
	s.refresh()
}

// mustWait reports whether a single-pod watch must wait because its namespace already has the maximum number of such
// watches (maxAlone). In a wide namespace, the waiting watch can open after another watch of the namespace has ended or
// has released its slot: see mustYield. The caller must hold the lock.
func (s *Source) mustWait(w *watcher) bool {
	if w.alone == nil {
		return false
	}
	slots, _ := s.countOwnSlots(w.namespace)
	return slots >= maxAlone
}

// countOwnSlots returns how many single-pod watches of a namespace have a slot, and how many of these watches will soon
// release their slot. The caller must hold the lock.
func (s *Source) countOwnSlots(namespace string) (slots, yielding int) {
	for _, p := range s.requests {
		if !p.own.hasSlot() || p.own.namespace != namespace {
			continue
		}
		slots++
		if p.own.yielding {
			yielding++
		}
	}
	return slots, yielding
}

// mustYield reports whether a pod's watch must release its slot, so that another pod of the same namespace gets a
// watch. The result is true only if a waiting pod never had a watch and cannot get a watch now: see mustWait. No watch
// releases its slot early for a waiting pod that already had a watch. If the watches of all pods released their slots
// in rotation, the API server would decode each Event once for each pod. The caller must hold the lock.
func (s *Source) mustYield(w *watcher) bool {
	if w.alone == nil || w.yielding {
		return w.yielding
	}
	slots, yielding := s.countOwnSlots(w.namespace)
	if slots < maxAlone {
		return false
	}
	for _, other := range s.queue.waiting {
		if other.alone != nil && other.namespace == w.namespace && !other.served {
			yielding--
		}
	}
	w.yielding = yielding < 0
	return w.yielding
}

// nextOpenable returns the queue position of the first watch that can open, or -1 if no watch can open. The caller must
// hold the lock.
func (s *Source) nextOpenable() int {
	if s.queue.taken >= s.queue.limit {
		return -1
	}
	for i, w := range s.queue.waiting {
		if !s.mustWait(w) {
			return i
		}
	}
	return -1
}

// successor returns the first watch in the queue that can open after a watch releases its slot. If slots are free, or
// if no waiting watch can open, successor returns nil. The caller must hold the lock.
func (s *Source) successor() *watcher {
	if s.queue.taken < s.queue.limit {
		return nil
	}
	for _, other := range s.queue.waiting {
		if !s.mustWait(other) {
			return other
		}
	}
	return nil
}
