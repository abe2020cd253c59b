package eventwatch

import (
	"hash/maphash"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Limits on the Events that a shared watch (one watch for several pods) remembers. The kubelet creates about ten Events
// of a few hundred bytes for each start-up. So within the limits, a shared watch remembers the Events of about 100
// start-ups.
const (
	maxRemembered      = 1024
	maxRememberedBytes = 512 << 10
	// maxOfPod is the maximum number of remembered Events per pod. The kubelet aggregates Events, so a pod has far
	// fewer Events than maxOfPod.
	maxOfPod     = 128
	maxForgotten = 1024
	// maxNamespaces limits the number of namespaces in the cache and in other maps. Within an hour, a node has pods of
	// fewer namespaces.
	maxNamespaces = 1024
	// To estimate the memory of an Event, the cache adds rememberedBytes to the length of the Event's texts. To
	// estimate the memory of a pod, the cache adds rememberedBytes to the length of the pod's names and UID.
	rememberedBytes = 256
)

// involved identifies the pod of an Event. An Event counts as an Event of a requested pod only if all three fields
// match. A client with permission to create Events in a namespace chooses all fields of these Events except the
// namespace.
type involved struct{ namespace, name, uid string }

// involvedIn returns the pod of an Event. If the Event concerns no pod, or if involvedObject.namespace differs from the
// Event's own namespace, the second result is false. If eventTime is set, the API server accepts an Event with two
// different namespaces (kubernetes: pkg/apis/core/validation, legacyValidateEvent).
func involvedIn(event *corev1.Event) (involved, bool) {
	about := event.InvolvedObject
	pod := involved{event.Namespace, about.Name, string(about.UID)}
	return pod, about.Kind == "Pod" && about.Namespace == event.Namespace
}

func involvedOf(w timeline.EventWatch) involved { return involved{w.Namespace, w.Name, w.InvolvedUID} }

// size returns the memory in bytes that the cache assumes for a pod without the pod's Events.
func (i involved) size() int { return rememberedBytes + len(i.namespace) + len(i.name) + len(i.uid) }

// seed makes the hashes unpredictable for clients that write Events.
var seed = maphash.MakeSeed()

// eventKey identifies one state of an Event. eventKey contains hashes, so its size does not depend on the length of the
// Event's name.
type eventKey struct{ name, version uint64 }

func keyOf(event *corev1.Event) eventKey {
	return eventKey{maphash.String(seed, event.Name), maphash.String(seed, event.ResourceVersion)}
}

// eventCache holds the Events that a shared watch received about this node's pods. For each Event, eventCache holds
// only the latest state. The cache holds a pod's Events even if no request for the pod exists. So a later request gets
// the pod's earlier Events.
//
// If the cache holds too many Events or bytes, it forgets pods of the namespace with the most Events or bytes. So a
// namespace with many Events does not affect other namespaces. Within a namespace, eventCache first forgets the pod
// that has had no new Event for the longest time. eventCache records the forgotten pods. For these pods, mayLackEvents
// returns true.
type eventCache struct {
	namespaces map[string]*namespaceCache
	// namespacesMissing is true if the map had no room for a namespace. If namespacesMissing is true, the cache can
	// lack Events of namespaces that are not in the map.
	namespacesMissing bool
	limit             int // maximum number of Events
	events            int
	bytes             int
	forgotten         int
	added             uint64 // number of added Events so far
}

// namespaceCache holds the remembered Events of one namespace.
type namespaceCache struct {
	pods          map[involved]*podEvents
	forgotten     map[uint64]struct{} // hashes of the forgotten pods; nil if blank is true
	blank         bool                // true if the hashes were deleted; Events of every pod can then be missing
	events, bytes int
}

type podEvents struct {
	events []pastEvent
	latest uint64 // value of eventCache.added when the pod's latest Event arrived
}

type pastEvent struct {
	key  eventKey
	seen timeline.EventSeen // the field UID is empty
}

func newEventCache(limit int) *eventCache {
	return &eventCache{namespaces: map[string]*namespaceCache{}, limit: limit}
}

// eventsOf returns the remembered Events of a pod.
func (c *eventCache) eventsOf(w timeline.EventWatch) []pastEvent {
	pod := involvedOf(w)
	if s := c.namespaces[pod.namespace]; s != nil && s.pods[pod] != nil {
		return s.pods[pod].events
	}
	return nil
}

// mayLackEvents reports whether the cache might lack Events of the pod.
func (c *eventCache) mayLackEvents(w timeline.EventWatch) bool {
	pod := involvedOf(w)
	s := c.namespaces[pod.namespace]
	return s == nil && c.namespacesMissing || s != nil && s.hasForgotten(pod)
}

func (s *namespaceCache) hasForgotten(pod involved) bool {
	_, ok := s.forgotten[maphash.Comparable(seed, pod)]
	return ok || s.blank
}

func (c *eventCache) add(pod involved, key eventKey, seen timeline.EventSeen) {
	s := c.findOrAdd(pod.namespace)
	if s == nil || s.hasForgotten(pod) {
		return
	}
	past := s.pods[pod]
	if past == nil {
		past = &podEvents{}
		s.pods[pod] = past
		c.grow(s, 0, pod.size())
	}
	c.added++
	past.latest = c.added
	// Clone the texts, because a substring would keep the whole original text in memory.
	seen.Message, seen.Reason, seen.Container = strings.Clone(seen.Message), strings.Clone(seen.Reason),
		strings.Clone(seen.Container)
	event := pastEvent{key, seen}
	if old := past.find(key.name); old != nil {
		c.grow(s, 0, event.size()-old.size())
		*old = event
	} else {
		c.grow(s, 1, event.size())
		past.events = append(past.events, event)
	}
	if len(past.events) > maxOfPod {
		c.forget(s, pod)
	}
	for c.events > c.limit {
		c.forgetOldest(c.largest(func(s *namespaceCache) int { return s.events }))
	}
	for c.bytes > maxRememberedBytes {
		c.forgetOldest(c.largest(func(s *namespaceCache) int { return s.bytes }))
	}
}

// findOrAdd returns the namespaceCache of a namespace. If the namespace is not in the map, findOrAdd adds the
// namespace. If the map is full (maxNamespaces entries), findOrAdd adds nothing and returns nil.
func (c *eventCache) findOrAdd(namespace string) *namespaceCache {
	s := c.namespaces[namespace]
	if s == nil && len(c.namespaces) < maxNamespaces {
		s = &namespaceCache{pods: map[involved]*podEvents{}, forgotten: map[uint64]struct{}{}}
		c.namespaces[namespace] = s
	}
	c.namespacesMissing = c.namespacesMissing || s == nil
	return s
}

func (c *eventCache) grow(s *namespaceCache, events, bytes int) {
	c.events += events
	c.bytes += bytes
	s.events += events
	s.bytes += bytes
}

func (c *eventCache) largest(size func(*namespaceCache) int) (largest *namespaceCache) {
	most := -1
	for _, s := range c.namespaces {
		if n := size(s); n > most {
			largest, most = s, n
		}
	}
	return largest
}

func (p *podEvents) find(name uint64) *pastEvent {
	for i := range p.events {
		if p.events[i].key.name == name {
			return &p.events[i]
		}
	}
	return nil
}

// forgetOldest forgets one pod of the namespace: the pod that has had no new Event for the longest time.
func (c *eventCache) forgetOldest(s *namespaceCache) {
	var oldest involved
	latest := c.added + 1
	for pod, past := range s.pods {
		if past.latest < latest {
			oldest, latest = pod, past.latest
		}
	}
	c.forget(s, oldest)
}

// forget removes a pod and records the pod's hash. If the cache has recorded more than maxForgotten hashes, forget
// deletes the hashes of the namespace with the most forgotten pods. forget then sets the field blank of this namespace.
// If blank is true, every pod of the namespace counts as forgotten.
func (c *eventCache) forget(s *namespaceCache, pod involved) {
	c.drop(s, pod)
	s.forgotten[maphash.Comparable(seed, pod)] = struct{}{}
	c.forgotten++
	if c.forgotten <= maxForgotten {
		return
	}
	most := c.largest(func(s *namespaceCache) int { return len(s.forgotten) })
	for pod := range most.pods {
		c.drop(most, pod)
	}
	c.forgotten -= len(most.forgotten)
	most.blank, most.forgotten = true, nil
}

func (c *eventCache) drop(s *namespaceCache, pod involved) {
	c.grow(s, 0, -pod.size())
	for _, event := range s.pods[pod].events {
		c.grow(s, -1, -event.size())
	}
	delete(s.pods, pod)
}

func (e *pastEvent) size() int {
	return rememberedBytes + len(e.seen.Message) + len(e.seen.Reason) + len(e.seen.Container)
}
