package eventwatch

import (
	"slices"
	"time"
)

const (
	// maxAlone is how many pods of one namespace get a watch each: the API server decodes every
	// Event of a namespace for each watch on it, whatever the watch selects.
	maxAlone = 4
	// linger is how long a shared watch without pods stays open, so that the next pods of a burst
	// can join it.
	linger = 5 * time.Second
	// clusterLinger is longer, because every opening delivers all Events of the last hour. It is limited, because the
	// API server should not send the cluster's Events to a node where no pod starts.
	clusterLinger = time.Minute
)

// The functions here require the lock of Source unless they say that they take it.

// scope returns the namespace of the shared watch that covers the pod; empty for all.
func (s *Source) scope(p *request) string {
	if s.config.Cluster {
		return ""
	}
	return p.watch.Namespace
}

func (s *Source) requestsIn(scope string) int {
	count := 0
	for _, p := range s.requests {
		if s.scope(p) == scope {
			count++
		}
	}
	return count
}

// watchAlone enqueues a watch for this pod only.
func (s *Source) watchAlone(p *request) {
	p.own = newFollower(p.watch.Namespace, p)
	s.enqueue(p.own)
}

// stopAlone ends the pod's own watch, if it has one.
func (s *Source) stopAlone(p *request) {
	if p.own != nil {
		s.stop(p.own)
		p.own = nil
	}
}

// stopShared ends a shared watch that no pod needs. The next request decides again.
func (s *Source) stopShared(f *follower) {
	delete(s.shared, f.namespace)
	s.stop(f)
}

// join adds a pod to a shared watch. If the watch is open, the caller must then nudge f.
func (s *Source) join(f *follower, p *request) {
	f.pods = append(f.pods, p)
	p.shared = f
}

// share starts a shared watch. The pods' own watches that wait for a slot leave the queue, where
// the shared watch takes the position of the first of them. Open watches continue until the shared watch has delivered
// all existing Events (reading.settle), so that every pod stays watched.
func (s *Source) share(scope string) {
	f := newFollower(scope, nil)
	s.shared[scope] = f
	for _, p := range s.requests {
		if s.scope(p) == scope {
			s.join(f, p)
		}
	}
	at := slices.IndexFunc(s.queue.waiting, f.replaces)
	for _, other := range s.queue.waiting {
		if f.replaces(other) {
			other.alone.own = nil
		}
	}
	s.queue.waiting = slices.DeleteFunc(s.queue.waiting, f.replaces)
	if s.queue.taken >= s.queue.limit {
		// One of the watches that it replaces can give up its slot now, so the shared watch needs no additional slot.
		if i := slices.IndexFunc(f.pods, func(p *request) bool { return p.own != nil }); i >= 0 {
			s.stopAlone(f.pods[i])
			at = 0
		}
	}
	if at < 0 {
		s.enqueue(f)
		return
	}
	s.queue.waiting = slices.Insert(s.queue.waiting, at, f)
}

// retire ends the lingering of a shared watch, unless a pod needs it again. It takes the lock.
func (s *Source) retire(f *follower) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(f.pods) > 0 {
		return false
	}
	s.stopShared(f)
	return true
}

// standing is a pod and the state of its own watch.
type standing struct {
	pod *request
	// deliveredSince is when the pod's own watch was opened, if that watch has delivered all existing
	// Events; otherwise zero.
	deliveredSince time.Time
}

// standings returns the pods that a watch serves now. It takes the lock.
func (s *Source) standings(f *follower) []standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.alone != nil {
		return []standing{{pod: f.alone}}
	}
	list := make([]standing, 0, len(f.pods))
	for _, p := range f.pods {
		one := standing{pod: p}
		if p.own != nil && p.own.proven {
			one.deliveredSince = p.own.openedAt
		}
		list = append(list, one)
	}
	return list
}

// enough ends the pod's own watch, because the shared one covers the pod. Another pod may have one now. It takes the
// lock.
func (s *Source) enough(p *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.own != nil && p.shared != nil {
		p.shared.nudge()
	}
	s.stopAlone(p)
}

// besideShared counts the pods of a namespace with a watch of their own beside the shared one.
func (s *Source) besideShared(namespace string) int {
	count := 0
	for _, p := range s.requests {
		if p.own != nil && p.shared != nil && p.watch.Namespace == namespace {
			count++
		}
	}
	return count
}

// notEnough gives the pod a watch of its own beside the shared one. A client that writes many Events in a namespace can
// make a shared watch forget its pods. At most maxAlone of them have a watch at a time, so that other namespaces get
// slots. It takes the lock.
func (s *Source) notEnough(p *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.own == nil && s.requests[p.watch.UID] == p && s.besideShared(p.watch.Namespace) < maxAlone {
		s.watchAlone(p)
		s.nudge()
	}
}
