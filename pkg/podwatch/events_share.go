package podwatch

import (
	"slices"
	"time"
)

const (
	// maxAlone is how many pods of one namespace are watched each on its own: the API server decodes every
	// Event of a namespace for each watch on it, whatever the watch selects.
	maxAlone = 4
	// linger is how long a shared watch stays open for nobody: the next pods of a burst find it there.
	linger = 5 * time.Second
	// clusterLinger is longer: every opening costs a reading of all Events of the last hour. It is not kept
	// for good, since a cluster where nothing starts here should not send its Events here.
	clusterLinger = time.Minute
)

// The functions here need the lock of Events where they do not say that they take it.

// scope is the namespace of the shared watch that is good for the pod; empty for all.
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

// watchAlone puts a watch of the pod's own in line.
func (e *Events) watchAlone(p *want) {
	p.own = newFollower(p.watch.Namespace, p)
	e.queue(p.own)
}

// stopAlone ends the pod's own watch, if it has one.
func (e *Events) stopAlone(p *want) {
	if p.own != nil {
		e.stop(p.own)
		p.own = nil
	}
}

// stopShared ends a shared watch that nobody needs; the next want decides anew.
func (e *Events) stopShared(f *follower) {
	delete(e.shared, f.namespace)
	e.stop(f)
}

// join has a pod served by a shared watch; f needs a nudge then if it is open.
func (e *Events) join(f *follower, p *want) {
	f.pods = append(f.pods, p)
	p.shared = f
}

// share begins a shared watch. The pods' own watches that still wait for a place leave the line, where it
// takes the place of the first of them; those that are open go on until it has proved to be as good
// (reading.settle), so that nobody is without a watch on the way.
func (e *Events) share(scope string) {
	f := newFollower(scope, nil)
	e.shared[scope] = f
	for _, p := range e.wanted {
		if e.scope(p) == scope {
			e.join(f, p)
		}
	}
	at := slices.IndexFunc(e.line.waiting, f.replaces)
	for _, other := range e.line.waiting {
		if f.replaces(other) {
			other.alone.own = nil
		}
	}
	e.line.waiting = slices.DeleteFunc(e.line.waiting, f.replaces)
	if e.line.taken >= e.line.limit {
		// One of those that it replaces can give up its place now, and so takes none from anybody else.
		if i := slices.IndexFunc(f.pods, func(p *want) bool { return p.own != nil }); i >= 0 {
			e.stopAlone(f.pods[i])
			at = 0
		}
	}
	if at < 0 {
		e.queue(f)
		return
	}
	e.line.waiting = slices.Insert(e.line.waiting, at, f)
}

// retire ends the lingering of a shared watch, unless somebody needs it again. It takes the lock.
func (e *Events) retire(f *follower) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(f.pods) > 0 {
		return false
	}
	e.stopShared(f)
	return true
}

// standing is how a pod stands with the watches it has.
type standing struct {
	pod *want
	// toldSince is when its own watch was opened, if that one has told all there was; else zero.
	toldSince time.Time
}

// standings are the pods that a watch serves now. It takes the lock.
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
			s.toldSince = p.own.openedAt
		}
		list = append(list, s)
	}
	return list
}

// enough ends the pod's own watch: the shared one vouches for it. Another pod may have one now. It takes the lock.
func (e *Events) enough(p *want) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p.own != nil && p.shared != nil {
		p.shared.nudge()
	}
	e.stopAlone(p)
}

// besideShared is how many pods of a namespace have a watch of their own beside the shared one.
func (e *Events) besideShared(namespace string) int {
	count := 0
	for _, p := range e.wanted {
		if p.own != nil && p.shared != nil && p.watch.Namespace == namespace {
			count++
		}
	}
	return count
}

// notEnough gives the pod a watch of its own beside the shared one. Whoever writes many Events in a namespace has a
// shared watch forget its pods: at most maxAlone of them have a watch at a time, so that the places are left to other
// namespaces. It takes the lock.
func (e *Events) notEnough(p *want) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p.own == nil && e.wanted[p.watch.UID] == p && e.besideShared(p.watch.Namespace) < maxAlone {
		e.watchAlone(p)
		e.nudge()
	}
}
