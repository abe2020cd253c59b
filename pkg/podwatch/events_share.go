package podwatch

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
	// clusterLinger is longer, because every opening delivers all Events of the last hour. It has
	// an end, because a cluster should not send its Events to a node where nothing starts.
	clusterLinger = time.Minute
)

// The functions here require the lock of Events unless they say that they take it.

// scope returns the namespace of the shared watch that covers the pod; empty for all.
func (e *Events) scope(p *want) string {
	if e.config.Cluster {
		return ""
	}
	return p.watch.Namespace
}

func (e *Events) wantedIn(scope string) int {
	count := 0
	for _, p := range e.wanted {
		if e.scope(p) == scope {
			count++
		}
	}
	return count
}

// watchAlone enqueues a watch for this pod only.
func (e *Events) watchAlone(p *want) {
	p.own = newFollower(p.watch.Namespace, p)
	e.enqueue(p.own)
}

// stopAlone ends the pod's own watch, if it has one.
func (e *Events) stopAlone(p *want) {
	if p.own != nil {
		e.stop(p.own)
		p.own = nil
	}
}

// stopShared ends a shared watch that no pod needs. The next want decides anew.
func (e *Events) stopShared(f *follower) {
	delete(e.shared, f.namespace)
	e.stop(f)
}

// join adds a pod to a shared watch. If the watch is open, f then needs a nudge.
func (e *Events) join(f *follower, p *want) {
	f.pods = append(f.pods, p)
	p.shared = f
}

// share starts a shared watch. The pods' own watches that wait for a slot leave the queue, where
// the shared watch takes the position of the first of them. Those that are open continue until the
// shared watch has proven to be as good (reading.settle), so that every pod stays watched.
func (e *Events) share(scope string) {
	f := newFollower(scope, nil)
	e.shared[scope] = f
	for _, p := range e.wanted {
		if e.scope(p) == scope {
			e.join(f, p)
		}
	}
	at := slices.IndexFunc(e.queue.waiting, f.replaces)
	for _, other := range e.queue.waiting {
		if f.replaces(other) {
			other.alone.own = nil
		}
	}
	e.queue.waiting = slices.DeleteFunc(e.queue.waiting, f.replaces)
	if e.queue.taken >= e.queue.limit {
		// One of the watches that it replaces can give up its slot now, so the shared watch takes
		// no other slot.
		if i := slices.IndexFunc(f.pods, func(p *want) bool { return p.own != nil }); i >= 0 {
			e.stopAlone(f.pods[i])
			at = 0
		}
	}
	if at < 0 {
		e.enqueue(f)
		return
	}
	e.queue.waiting = slices.Insert(e.queue.waiting, at, f)
}

// retire ends the lingering of a shared watch, unless a pod needs it again. It takes the lock.
func (e *Events) retire(f *follower) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(f.pods) > 0 {
		return false
	}
	e.stopShared(f)
	return true
}

// standing is a pod and the state of its own watch.
type standing struct {
	pod *want
	// deliveredSince is when the pod's own watch was opened, if that watch has delivered all existing
	// Events; otherwise zero.
	deliveredSince time.Time
}

// standings returns the pods that a watch serves now. It takes the lock.
func (e *Events) standings(f *follower) []standing {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f.alone != nil {
		return []standing{{pod: f.alone}}
	}
	list := make([]standing, 0, len(f.pods))
	for _, p := range f.pods {
		s := standing{pod: p}
		if p.own != nil && p.own.proven {
			s.deliveredSince = p.own.openedAt
		}
		list = append(list, s)
	}
	return list
}

// enough ends the pod's own watch, because the shared one vouches for the pod. Another pod may have
// one now. It takes the lock.
func (e *Events) enough(p *want) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p.own != nil && p.shared != nil {
		p.shared.nudge()
	}
	e.stopAlone(p)
}

// besideShared counts the pods of a namespace with a watch of their own beside the shared one.
func (e *Events) besideShared(namespace string) int {
	count := 0
	for _, p := range e.wanted {
		if p.own != nil && p.shared != nil && p.watch.Namespace == namespace {
			count++
		}
	}
	return count
}

// notEnough gives the pod a watch of its own beside the shared one. Whoever writes many Events in a
// namespace makes a shared watch forget its pods. At most maxAlone of them have a watch at a time,
// so that other namespaces get slots. It takes the lock.
func (e *Events) notEnough(p *want) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p.own == nil && e.wanted[p.watch.UID] == p && e.besideShared(p.watch.Namespace) < maxAlone {
		e.watchAlone(p)
		e.nudge()
	}
}
