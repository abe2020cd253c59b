package eventwatch

import (
	"slices"
	"time"
)

const (
	// If the agent requests the Events of at least sharedFrom pods of one namespace, these pods share a watch. Other
	// rules apply to crowded and wide namespaces, which have many Events that the agent does not need (see
	// crowdedSample). Each watch is expensive. To open a watch, the API server needs milliseconds of CPU time. For each
	// open watch, the API server decodes every new Event of the namespace, even Events that the watch does not select.
	sharedFrom = 2
	// maxAlone is the maximum number of pods of one namespace that get their own watches. If a crowded namespace (see
	// crowdedSample) has more than maxAlone requested pods, all of these pods share one watch. In a wide namespace (see
	// wideSample), pods do not share a watch. If maxAlone pods of a wide namespace have watches, the next pod waits
	// until one of these watches ends or releases its slot.
	maxAlone = 4
	// linger is how long a shared watch without pods stays open, so that the next pods of a burst can use the watch.
	// While a shared watch has no pods, the agent receives the namespace's new Events although no pod needs these
	// Events. If the namespace turns out to be crowded (see crowdedSample), the shared watch ends earlier.
	linger = 5 * time.Second
	// clusterLinger is how long a watch on all namespaces stays open without pods. clusterLinger is longer than linger,
	// because a new watch on all namespaces can be expensive. If the start revision of the new watch is unknown, the
	// watch can first deliver the cluster's Events of the last hour. clusterLinger is limited, because the API server
	// should not send the cluster's Events to a node where no pod starts.
	clusterLinger = time.Minute
)

// Some functions below take the lock of Source, and their comments say so. For every other function below, the caller
// must hold the lock.

// scope returns the namespace that a shared watch for the pod covers. If a shared watch covers all namespaces
// (Config.Cluster), scope returns an empty string.
func (s *Source) scope(p *request) string {
	if s.config.Cluster {
		return ""
	}
	return p.watch.Namespace
}

// mustShare reports whether the requested pods of a scope (one namespace, or all namespaces) must share one watch.
func (s *Source) mustShare(scope string) bool {
	pods, now := s.requestsIn(scope), s.config.Now()
	switch {
	case s.config.Cluster:
		return true
	case s.wide.has(scope, now):
		return false
	case s.crowded.has(scope, now):
		return pods > maxAlone
	}
	return pods >= sharedFrom
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

// enqueueOwn enqueues a watch for one pod only.
func (s *Source) enqueueOwn(p *request) {
	p.own = newWatcher(p.watch.Namespace, p)
	s.enqueue(p.own)
}

func (s *Source) stopOwn(p *request) {
	if p.own != nil {
		s.stop(p.own)
		p.own = nil
	}
}

// stopShared ends a shared watch. The next request can start a new shared watch.
func (s *Source) stopShared(w *watcher) {
	delete(s.shared, w.namespace)
	s.stop(w)
}

// addToShared adds a pod to a shared watch. If the watch is open, the caller must then call w.refresh.
func (s *Source) addToShared(w *watcher, p *request) {
	w.pods = append(w.pods, p)
	p.shared = w
}

// startShared starts a shared watch. If own watches of the pods wait in the queue, the shared watch replaces all of
// these watches and takes the place of the first one. startShared stops every own watch that has a slot but is not open
// yet. For example, if two pods arrive at the same time, the first pod's watch might not be open yet. A pod's open
// watch continues until the shared watch has delivered all existing Events (watchSession.reportOrAddOwnWatches). So no
// Event of this pod is lost. But if no slot is free and startShared has not stopped any watch with a slot, it stops one
// of the open watches.
func (s *Source) startShared(scope string) {
	w := newWatcher(scope, nil)
	s.shared[scope] = w
	for _, p := range s.requests {
		if s.scope(p) == scope {
			s.addToShared(w, p)
		}
	}
	at := slices.IndexFunc(s.queue.waiting, w.coversPodOf)
	for _, other := range s.queue.waiting {
		if w.coversPodOf(other) {
			other.alone.own = nil
		}
	}
	s.queue.waiting = slices.DeleteFunc(s.queue.waiting, w.coversPodOf)
	stopped := false
	for _, p := range w.pods {
		if p.own != nil && !p.own.isOpen() {
			s.stopOwn(p)
			stopped = true
		}
	}
	if s.queue.taken >= s.queue.limit {
		// No slot is free for the shared watch. If no own watch of the pods was stopped above, stop one now. After the
		// stop of an own watch, the shared watch gets the next free slot.
		i := slices.IndexFunc(w.pods, func(p *request) bool { return p.own != nil })
		if !stopped && i >= 0 {
			s.stopOwn(w.pods[i])
			stopped = true
		}
		if stopped {
			at = 0
		}
	}
	if at < 0 {
		s.enqueue(w)
		return
	}
	s.queue.waiting = slices.Insert(s.queue.waiting, at, w)
}

// stopIfUnused stops a shared watch without pods. If a pod uses the watch again, stopIfUnused returns false.
// stopIfUnused takes the lock.
func (s *Source) stopIfUnused(w *watcher) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(w.pods) > 0 {
		return false
	}
	s.stopShared(w)
	return true
}

type podState struct {
	pod *request
	// deliveredSince is the time at which the pod's own watch opened. deliveredSince is set only if the pod's own watch
	// opened after the shared watch and has delivered all existing Events.
	deliveredSince time.Time
}

// podStates returns the pods that a watch serves now. podStates takes the lock.
func (s *Source) podStates(w *watcher) []podState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.alone != nil {
		return []podState{{pod: w.alone}}
	}
	list := make([]podState, 0, len(w.pods))
	for _, p := range w.pods {
		one := podState{pod: p}
		if p.own != nil && p.own.proven && p.own.openedAt.After(w.openedAt) {
			one.deliveredSince = p.own.openedAt
		}
		list = append(list, one)
	}
	return list
}

// stopOwnWatch stops the pod's own watch, because the shared watch covers the pod. After the stop, another pod of the
// shared watch can get its own watch. stopOwnWatch takes the lock.
func (s *Source) stopOwnWatch(p *request, w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.shared != w {
		return // the pod has left the shared watch
	}
	if p.own != nil && p.shared != nil {
		p.shared.refresh()
	}
	s.stopOwn(p)
}

// countWithBothWatches counts the pods of a namespace that have their own watch in addition to the shared watch.
func (s *Source) countWithBothWatches(namespace string) int {
	count := 0
	for _, p := range s.requests {
		if p.own != nil && p.shared != nil && p.watch.Namespace == namespace {
			count++
		}
	}
	return count
}

// addOwnWatch gives the pod its own watch in addition to the shared watch, because the shared watch can lack Events of
// the pod. For example, if a client writes many Events in a namespace, the cache of the shared watch can drop the
// Events of some pods. At most maxAlone pods of a namespace can have their own watch and the shared watch at the same
// time, so that other namespaces get slots. addOwnWatch takes the lock.
//
// If the pod's own watch has delivered all existing Events, but opened before the shared watch, addOwnWatch replaces
// the pod's own watch with a new one. Without the replacement, the pod's old watch could end too early, and Events from
// before the opening of the shared watch could be missing.
func (s *Source) addOwnWatch(p *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.own != nil && p.own.proven && p.shared != nil && !p.own.openedAt.After(p.shared.openedAt) {
		s.stopOwn(p)
	}
	if p.own == nil && s.requests[p.watch.UID] == p && s.countWithBothWatches(p.watch.Namespace) < maxAlone {
		s.enqueueOwn(p)
		s.refresh()
	}
}
