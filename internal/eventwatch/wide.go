package eventwatch

import "time"

// Limits on shared watches of wide namespaces. A wide namespace has many new Events, and few of these Events concern
// pods that need Events on this node. For the API server, a shared watch costs less than two watches on single pods,
// because decoding an Event takes more CPU than sending the Event. But the agent must decode every Event of a shared
// watch.
const (
	// wideSample is the number of Events after which the agent judges a shared watch, and judges it again.
	wideSample = 4096
	// wideWithin is the maximum time for this number of Events in a wide namespace.
	wideWithin = 10 * time.Second
	// maxUseless is the maximum number of received Events for each Event about a requested pod.
	maxUseless = 16
	// wideFor is the time after which the agent tries a shared watch again.
	wideFor = 10 * time.Minute
)

// The type usage counts the Events of one shared watch.
type usage struct {
	since          time.Time
	received, used int
}

// The method wasteful reports whether a watch brought many Events in a short time, and few of them concerned a
// requested pod. The method wasteful then starts a new count.
func (u *usage) wasteful(sample int, now time.Time) bool {
	if u.received < sample {
		return false
	}
	wasteful := u.received > maxUseless*u.used && now.Sub(u.since) <= wideWithin
	*u = usage{since: now}
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

// The method blocked reports whether a waiting watch cannot open because its wide namespace already has maxAlone
// watches. Such a watch waits until a pod needs no more Events: if the pods took turns, the API server would decode
// each Event once for each pod. The caller must hold the lock.
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
	return open >= maxAlone
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

// The method successor returns the first watch that waits for a slot, or nil. The caller must hold the lock.
func (s *Source) successor() *follower {
	if s.queue.taken < s.queue.limit {
		return nil
	}
	for _, other := range s.queue.waiting {
		if !s.blocked(other) {
			return other
		}
	}
	return nil
}
