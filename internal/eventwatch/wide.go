package eventwatch

import "time"

// Limits on shared watches of wide namespaces. A wide namespace has many Events about pods that need no Events on this
// node. The API server needs about 1.5 µs of CPU to decode an Event and to compare the Event with a watch's selector.
// Sending an Event takes more than ten times as long. So several watches that select single pods cost less than a
// shared watch that brings mostly useless Events.
const (
	// wideSample is the number of Events after which the agent judges a shared watch, and judges it again.
	wideSample = 256
	// maxUseless is the maximum number of received Events for each Event about a requested pod.
	maxUseless = 4
	// maxSingle is the maximum number of open watches on single pods in a wide namespace.
	maxSingle = 12
	// wideFor is the time after which the agent tries a shared watch again.
	wideFor = 10 * time.Minute
)

// The type usage counts the Events of one shared watch.
type usage struct{ received, used int }

// The method wasteful reports whether most Events of a watch concerned no requested pod. The method wasteful then
// starts a new count.
func (u *usage) wasteful() bool {
	if u.received < wideSample {
		return false
	}
	wasteful := u.received > maxUseless*u.used
	*u = usage{}
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

// The method unshare replaces a shared watch by watches on single pods. Each of these watches begins where the shared
// watch ends, so no Event is lost.
func (s *Source) unshare(f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config.Cluster || s.shared[f.namespace] != f {
		return
	}
	s.metrics.unshared.Inc()
	if len(s.wide) >= maxNamespaces {
		clear(s.wide)
	}
	s.wide[f.namespace] = s.config.Now().Add(wideFor)
	s.stopShared(f)
	for _, p := range f.pods {
		p.shared = nil
		if p.own == nil {
			s.watchAlone(p)
		}
	}
	s.nudge()
}

// The method blocked reports whether a waiting watch cannot open because its wide namespace has the maximum number of
// watches. The caller must hold the lock.
func (s *Source) blocked(f *follower) bool {
	if f.alone == nil || !s.isWide(f.namespace) {
		return false
	}
	open := 0
	for _, p := range s.requests {
		if p.own.hasSlot() && p.own.namespace == f.namespace {
			open++
		}
	}
	return open >= maxSingle
}

// The method next returns the position in the queue of the first watch that can open, or -1. The caller must hold the
// lock.
func (s *Source) next() int {
	if s.queue.taken >= s.queue.limit {
		return -1
	}
	for i, f := range s.queue.waiting {
		if !s.blocked(f) {
			return i
		}
	}
	return -1
}

// The method successor returns the first waiting watch that could use the slot of an open watch, or nil. The caller
// must hold the lock.
func (s *Source) successor(f *follower) *follower {
	for _, other := range s.queue.waiting {
		if other.namespace == f.namespace || s.queue.taken >= s.queue.limit && !s.blocked(other) {
			return other
		}
	}
	return nil
}
