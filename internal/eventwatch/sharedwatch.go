package eventwatch

import (
	"slices"
	"time"
)

const (
	// sharedFrom is the minimum number of pods for a shared watch: if at least sharedFrom pods of one namespace are
	// requested, these pods share a watch. Crowded and wide namespaces have other rules: see crowdedSample. Each watch
	// is expensive: opening a watch takes milliseconds of the API server's CPU time, and for each open watch, the API
	// server decodes every new Event of the namespace, even Events that the watch does not select.
	sharedFrom = 2
	// maxAlone is the maximum number of pods of one namespace that get their own watches. In a crowded namespace (see
	// crowdedSample), all requested pods share one watch if there are more than maxAlone of them. In a wide namespace
	// (see wideSample), a pod beyond the first maxAlone pods waits until the watch of another pod of the namespace ends
	// or releases its slot.
	maxAlone = 4
	// linger is how long a shared watch without pods stays open, so that the next pods of a burst can use the watch.
	// While a shared watch has no pods, the agent receives the namespace's new Events without need. If the namespace
	// turns out to be crowded (see crowdedSample), the shared watch ends earlier.
	linger = 5 * time.Second
	// clusterLinger is how long a watch on all namespaces stays open without pods. clusterLinger is longer than linger,
	// because a new watch is expensive: without a revision, the new watch delivers the cluster's Events of the last
	// hour. clusterLinger is limited, because the API server should not send the cluster's Events to a node where no
	// pod starts.
	clusterLinger = time.Minute
)

// For each function below, the caller must hold the lock of Source, unless the function's comment says that the
// function takes the lock.

// scope returns the namespace of the shared watch for the pod, or "" for a watch on all namespaces.
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

// startShared starts a shared watch. If the pods' own watches wait for slots, the shared watch replaces them in the
// queue, at the place of the foremost one. If a pod's own watch has a slot but is not open yet, for example because two
// pods arrived at the same time, startShared stops this watch. The pods' open watches continue until the shared watch
// has delivered all existing Events (watchSession.reportOrAddOwnWatches), so no Event of these pods is lost. If no slot
// is free, startShared stops one of the pods' open watches.
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
		// No slot is free for the shared watch, so stop at least one of the watches that the shared watch replaces. The
		// shared watch gets the next free slot.
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
	// deliveredSince is the time at which the pod's own watch was opened. deliveredSince is set only if the pod's own
	// watch was opened after the shared watch and has delivered all existing Events.
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
// the pod. For example, a client that writes many Events in a namespace can make the cache of a shared watch drop the
// Events of some pods. At most maxAlone pods of a namespace can have their own watch and the shared watch at the same
// time, so that other namespaces get slots. addOwnWatch takes the lock.
//
// If the pod's own watch has delivered all existing Events, but is older than the shared watch, addOwnWatch replaces
// the pod's own watch with a new one. Without the replacement, the pod's older watch could end before it has delivered
// all Events that are older than the shared watch.
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
