package podwatch

import (
	"strings"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Bounds on what a shared watch remembers. A node has some hundred pods, and kubelet makes about ten
// Events of a few hundred bytes for a start: it has room for all that started in the last hour.
const (
	maxRemembered      = 1024
	maxRememberedBytes = 512 << 10
	maxForgotten       = 1024
	// rememberedBytes is what one Event takes beside its texts.
	rememberedBytes = 256
)

// memory is what a shared watch has seen of the pods of this node, wanted or not, of each Event the latest
// state: a pod that is wanted later gets it. When it is too much, pods are forgotten, those first of which
// nothing has come for longest; it remembers which ones.
type memory struct {
	pods      map[string]*pastOf // by involvedObject.uid
	forgotten map[string]struct{}
	blank     bool // too many were forgotten to remember which
	limit     int  // of Events
	events    int
	bytes     int
	added     uint64 // so far
}

type pastOf struct {
	events []pastEvent
	latest uint64 // the addition that came last
}

type pastEvent struct {
	name, version string
	seen          timeline.EventSeen // without the pod's UID
}

func newMemory(limit int) *memory {
	return &memory{pods: map[string]*pastOf{}, forgotten: map[string]struct{}{}, limit: limit}
}

// of is what is remembered about a pod; nothing, of nobody.
func (m *memory) of(uid string) []pastEvent {
	if past := m.pods[uid]; past != nil {
		return past.events
	}
	return nil
}

// forgot says that something about the pod may be missing.
func (m *memory) forgot(uid string) bool {
	_, ok := m.forgotten[uid]
	return ok || m.blank
}

func (m *memory) add(uid, name, version string, seen timeline.EventSeen) {
	if m.forgot(uid) {
		return
	}
	past := m.pods[uid]
	if past == nil {
		past = &pastOf{}
		m.pods[uid] = past
	}
	m.added++
	past.latest = m.added
	// The texts may be parts of long ones.
	seen.Message, seen.Reason, seen.Container = strings.Clone(seen.Message), strings.Clone(seen.Reason), strings.Clone(seen.Container)
	event := pastEvent{name, version, seen}
	if old := past.find(name); old != nil {
		m.bytes += event.size() - old.size()
		*old = event
	} else {
		m.events++
		m.bytes += event.size()
		past.events = append(past.events, event)
	}
	for m.events > m.limit || m.bytes > maxRememberedBytes {
		m.forget()
	}
}

func (p *pastOf) find(name string) *pastEvent {
	for i := range p.events {
		if p.events[i].name == name {
			return &p.events[i]
		}
	}
	return nil
}

// forget lets go of the pod of which nothing has come for longest.
func (m *memory) forget() {
	oldest, latest := "", m.added+1
	for uid, past := range m.pods {
		if past.latest < latest {
			oldest, latest = uid, past.latest
		}
	}
	for _, event := range m.pods[oldest].events {
		m.events--
		m.bytes -= event.size()
	}
	delete(m.pods, oldest)
	m.forgotten[oldest] = struct{}{}
	if len(m.forgotten) > maxForgotten {
		m.forgetAll()
	}
}

// forgetAll is for a memory that nobody can rely on any more.
func (m *memory) forgetAll() { *m = memory{blank: true} }

func (e *pastEvent) size() int {
	return rememberedBytes + len(e.name) + len(e.version) + len(e.seen.Message) + len(e.seen.Reason) + len(e.seen.Container)
}
