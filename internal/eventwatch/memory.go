package eventwatch

import (
	"hash/maphash"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Limits on what a shared watch remembers. A node has some hundred pods, and the kubelet creates
// about ten Events of a few hundred bytes for a start: so there is room for all pods that started in the last hour.
const (
	maxRemembered      = 1024
	maxRememberedBytes = 512 << 10
	// maxOfPod is how many Events are remembered per pod. The kubelet's aggregation keeps the
	// number of a pod's Events far below.
	maxOfPod     = 128
	maxForgotten = 1024
	// maxNamespaces is more than the number of namespaces that have pods on one node within an hour.
	maxNamespaces = 1024
	// rememberedBytes is what one Event takes beside its texts, and what one pod takes beside its
	// names.
	rememberedBytes = 256
)

// involved is the pod that an Event is about. All fields must match, because access control protects only the namespace
// of an Event. A client that may write Events there chooses all other fields.
type involved struct{ namespace, name, uid string }

// involvedIn returns the pod of an Event, and whether the Event is about a pod at all. The API
// server accepts an involvedObject.namespace that differs from the Event's own namespace if
// eventTime is set (kubernetes: pkg/apis/core/validation, legacyValidateEvent).
func involvedIn(event *corev1.Event) (involved, bool) {
	about := event.InvolvedObject
	pod := involved{event.Namespace, about.Name, string(about.UID)}
	return pod, about.Kind == "Pod" && about.Namespace == event.Namespace
}

func involvedOf(w timeline.EventWatch) involved { return involved{w.Namespace, w.Name, w.InvolvedUID} }

// size counts the bytes of a remembered pod's identity.
func (i involved) size() int { return rememberedBytes + len(i.namespace) + len(i.name) + len(i.uid) }

// seed makes the hashes unpredictable for writers of Events.
var seed = maphash.MakeSeed()

// eventKey identifies one state of an Event in a fixed size, however long its name is.
type eventKey struct{ name, version uint64 }

func keyOf(event *corev1.Event) eventKey {
	return eventKey{maphash.String(seed, event.Name), maphash.String(seed, event.ResourceVersion)}
}

// memory holds the latest state of each Event that a shared watch has seen about the pods of this node, requested or
// not. A pod that is requested later gets it. When the limit is reached, the pods of the namespace that takes the most
// memory are forgotten, starting with the pod whose latest Event is the oldest. The memory records which pods it
// forgot. So a namespace with many Events does not affect others.
type memory struct {
	namespaces map[string]*share
	full       bool // a namespace did not fit: only the namespaces in the map are complete
	limit      int  // of Events
	events     int
	bytes      int
	forgotten  int
	added      uint64 // so far
}

// share holds the remembered Events of one namespace.
type share struct {
	pods          map[involved]*pastOf
	forgotten     map[uint64]struct{} // hashes of pods; nil when blank
	blank         bool                // more pods were forgotten than can be recorded
	events, bytes int
}

type pastOf struct {
	events []pastEvent
	latest uint64 // the latest addition
}

type pastEvent struct {
	key  eventKey
	seen timeline.EventSeen // without the pod's UID
}

func newMemory(limit int) *memory {
	return &memory{namespaces: map[string]*share{}, limit: limit}
}

// of returns what is remembered about a pod; nothing for a nil memory.
func (m *memory) of(w timeline.EventWatch) []pastEvent {
	pod := involvedOf(w)
	if s := m.namespaces[pod.namespace]; s != nil && s.pods[pod] != nil {
		return s.pods[pod].events
	}
	return nil
}

// forgot reports whether Events of the pod may be missing.
func (m *memory) forgot(w timeline.EventWatch) bool {
	pod := involvedOf(w)
	s := m.namespaces[pod.namespace]
	return s == nil && m.full || s != nil && s.forgot(pod)
}

func (s *share) forgot(pod involved) bool {
	_, ok := s.forgotten[maphash.Comparable(seed, pod)]
	return ok || s.blank
}

func (m *memory) add(pod involved, key eventKey, seen timeline.EventSeen) {
	s := m.share(pod.namespace)
	if s == nil || s.forgot(pod) {
		return
	}
	past := s.pods[pod]
	if past == nil {
		past = &pastOf{}
		s.pods[pod] = past
		m.grow(s, 0, pod.size())
	}
	m.added++
	past.latest = m.added
	// The texts may be parts of longer ones.
	seen.Message, seen.Reason, seen.Container = strings.Clone(seen.Message), strings.Clone(seen.Reason),
		strings.Clone(seen.Container)
	event := pastEvent{key, seen}
	if old := past.find(key.name); old != nil {
		m.grow(s, 0, event.size()-old.size())
		*old = event
	} else {
		m.grow(s, 1, event.size())
		past.events = append(past.events, event)
	}
	if len(past.events) > maxOfPod {
		m.forget(s, pod)
	}
	for m.events > m.limit {
		m.forgetOldest(m.largest(func(s *share) int { return s.events }))
	}
	for m.bytes > maxRememberedBytes {
		m.forgetOldest(m.largest(func(s *share) int { return s.bytes }))
	}
}

// share returns the share of a namespace, or nil if there is no room for one more.
func (m *memory) share(namespace string) *share {
	s := m.namespaces[namespace]
	if s == nil && len(m.namespaces) < maxNamespaces {
		s = &share{pods: map[involved]*pastOf{}, forgotten: map[uint64]struct{}{}}
		m.namespaces[namespace] = s
	}
	m.full = m.full || s == nil
	return s
}

func (m *memory) grow(s *share, events, bytes int) {
	m.events += events
	m.bytes += bytes
	s.events += events
	s.bytes += bytes
}

// largest returns the namespace with the largest size.
func (m *memory) largest(size func(*share) int) (largest *share) {
	most := -1
	for _, s := range m.namespaces {
		if n := size(s); n > most {
			largest, most = s, n
		}
	}
	return largest
}

func (p *pastOf) find(name uint64) *pastEvent {
	for i := range p.events {
		if p.events[i].key.name == name {
			return &p.events[i]
		}
	}
	return nil
}

// forgetOldest forgets the pod of a namespace whose latest Event is the oldest.
func (m *memory) forgetOldest(s *share) {
	var oldest involved
	latest := m.added + 1
	for pod, past := range s.pods {
		if past.latest < latest {
			oldest, latest = pod, past.latest
		}
	}
	m.forget(s, oldest)
}

// forget drops a pod and records that it did. If there is no room for the record, the namespace
// with the most forgotten pods is marked as incomplete: each of its pods then gets a watch of its own, like a forgotten
// pod.
func (m *memory) forget(s *share, pod involved) {
	m.drop(s, pod)
	s.forgotten[maphash.Comparable(seed, pod)] = struct{}{}
	m.forgotten++
	if m.forgotten <= maxForgotten {
		return
	}
	most := m.largest(func(s *share) int { return len(s.forgotten) })
	for pod := range most.pods {
		m.drop(most, pod)
	}
	m.forgotten -= len(most.forgotten)
	most.blank, most.forgotten = true, nil
}

func (m *memory) drop(s *share, pod involved) {
	m.grow(s, 0, -pod.size())
	for _, event := range s.pods[pod].events {
		m.grow(s, -1, -event.size())
	}
	delete(s.pods, pod)
}

func (e *pastEvent) size() int {
	return rememberedBytes + len(e.seen.Message) + len(e.seen.Reason) + len(e.seen.Container)
}
