package eventwatch

import (
	"math"
	"time"
)

// These constants define when a namespace is crowded or wide. A crowded or wide namespace has many new Events, but the
// agent needs few of these Events. The API server decodes each Event once for each watch of the namespace. Decoding an
// Event takes more CPU than sending the Event. So for the API server, one shared watch costs less than two watches on
// single pods. The agent, however, must decode every Event of a shared watch.
const (
	// crowdedSample is the number of Events after which the agent checks whether the namespace is crowded. In a crowded
	// namespace, pods share a watch only if more than maxAlone pods need a watch. wideSample is the number of Events
	// after which the agent checks whether the namespace is wide. In a wide namespace, no pods share a watch.
	crowdedSample = 512
	wideSample    = 4096
	// A namespace is crowded only if crowdedSample Events arrive within sampleWithin, and wide only if wideSample
	// Events arrive within sampleWithin.
	sampleWithin = 10 * time.Second
	// A namespace is crowded or wide only if the agent receives more than maxUseless Events for each Event that it
	// needs.
	maxUseless = 16
	// crowdedFor is how long a namespace counts as crowded.
	crowdedFor = 10 * time.Minute
	// wideFor is how long a namespace counts as wide.
	wideFor = 10 * time.Minute
)

// namespaceMarks contains namespaces with a property, for example wide namespaces (see wideFor). The map's value is the
// time when the property expires. The lock of
// Source guards namespaceMarks.
type namespaceMarks map[string]time.Time

func (m namespaceMarks) has(namespace string, now time.Time) bool {
	until, ok := m[namespace]
	if ok && !now.Before(until) {
		delete(m, namespace)
		ok = false
	}
	return ok
}

func (m namespaceMarks) set(namespace string, until time.Time) {
	if len(m) >= maxNamespaces {
		clear(m)
	}
	m[namespace] = until
}

// eventUsage counts the Events of one watch.
type eventUsage struct {
	received int
	used     int // number of received Events that concern a requested pod
}

// usageCount counts the Events of a shared watch from a point in time.
type usageCount struct {
	since  time.Time
	before eventUsage // Events that the watch delivered before the count began
}

// isWasteful returns true if a watch delivered many Events in a short time, and few of these Events concerned a
// requested pod. When the count reaches the argument "sample", isWasteful starts a new count.
func (c *usageCount) isWasteful(usage eventUsage, sample int, now time.Time) bool {
	received, used := usage.received-c.before.received, usage.used-c.before.used
	if received < sample {
		return false
	}
	wasteful := received > maxUseless*used && now.Sub(c.since) <= sampleWithin
	*c = usageCount{since: now, before: usage}
	return wasteful
}

// markWide marks the namespace of a shared watch as wide, and replaces the shared watch with watches on single pods.
// markWide takes the lock.
func (s *Source) markWide(w *watcher) { s.mark(w, s.wide, wideFor, math.MaxInt) }

// markCrowded marks the namespace of a shared watch as crowded, and replaces the shared watch if at most maxAlone pods
// use it. Before each replacement, a shared watch delivers at least crowdedSample Events. So pods that come and go
// often cannot cause many replacements. markCrowded takes the lock.
func (s *Source) markCrowded(w *watcher) { s.mark(w, s.crowded, crowdedFor, maxAlone) }

// mark marks the namespace of a shared watch for the given duration. If the shared watch serves at most the given
// number of pods, mark replaces the shared watch with watches on single pods.
func (s *Source) mark(w *watcher, marks namespaceMarks, duration time.Duration, pods int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config.Cluster || s.shared[w.namespace] != w {
		return
	}
	marks.set(w.namespace, s.config.Now().Add(duration))
	if len(w.pods) <= pods {
		s.unshare(w)
	}
}

// unshare replaces a shared watch with watches on single pods. Each new watch begins where the shared watch ends, so no
// Event is lost. The caller must hold the lock.
func (s *Source) unshare(w *watcher) {
	s.stopShared(w)
	if len(w.pods) > 0 {
		s.metrics.unshared.Inc()
	}
	for _, p := range w.pods {
		p.shared = nil
		if p.own == nil {
			s.enqueueOwn(p)
		}
	}
	s.refresh()
}

// reshare starts a shared watch for a namespace that no longer counts as wide or crowded. reshare has no effect if the
// namespace has too few requested pods for a shared watch (mustShare). reshare takes the lock.
func (s *Source) reshare(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.alone == nil || s.config.Cluster || s.shared[w.namespace] != nil || !s.mustShare(w.namespace) {
		return
	}
	s.startShared(w.namespace)
	s.refresh()
}

// mustWait reports whether a watch must not open now. A watch must wait in two cases. In the first case, the namespace
// is costly: see costlyRate. In the second case, w serves a single pod, and at least maxAlone watches on single pods of
// the namespace have a slot. In the second case, w can open after one of these watches has ended or has released its
// slot: see mustYield. The caller must hold the lock.
func (s *Source) mustWait(w *watcher) bool {
	if s.costly.has(w.namespace, s.config.Now()) {
		return true
	}
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
// watch. A watch must release its slot only for a pod that cannot get a watch now (see mustWait) and never had a watch.
// mustYield ignores waiting pods that already had a watch. If the watches of all pods took turns, the API server would
// decode each Event once for each pod. The caller must hold the lock.
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

// nextOpenable returns the first waiting watch that can open as soon as a slot is free, or nil if no waiting watch can
// open. The caller must hold the lock.
func (s *Source) nextOpenable() *watcher {
	for _, w := range s.queue.waiting {
		if !s.mustWait(w) {
			return w
		}
	}
	return nil
}

// successor returns the first waiting watch that can open when another watch releases its slot. If slots are free, or
// if no waiting watch can open, successor returns nil. The caller must hold the lock.
func (s *Source) successor() *watcher {
	if s.queue.taken < s.queue.limit {
		return nil
	}
	return s.nextOpenable()
}
