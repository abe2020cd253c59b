package timeline

import (
	"slices"
	"time"
)

// spamLimit is the number of Events about one pod after which the kubelet's client drops further Events. After
// spamLimit Events, the client sends only one Event in each spamInterval (client-go, tools/record, defaultSpamBurst and
// defaultSpamQPS).
const (
	spamLimit    = 25
	spamInterval = 5 * time.Minute
)

// countedEvent is one Event about the pod, with its number of occurrences. The reason and the time of the first
// occurrence identify the Event.
type countedEvent struct {
	reason  string
	firstAt instant
	count   int
}

// countEvent counts the Events that the kubelet's client sent about the pod, up to spamLimit, and keeps the time of the
// latest Event.
func (e *Evidence) countEvent(o EventSeen) {
	if last := latestOccurrence(o).latest; last > e.lastEventAt {
		e.lastEventAt, e.changed = last, true
	}
	if e.eventLimitReached() {
		return
	}
	event := countedEvent{o.Reason, firstOccurrence(o).latest, max(1, o.Count)}
	i := slices.IndexFunc(e.countedEvents, func(known countedEvent) bool {
		return known.reason == event.reason && known.firstAt == event.firstAt
	})
	switch {
	case i < 0:
		e.countedEvents, e.changed = append(e.countedEvents, event), true
	case e.countedEvents[i].count < event.count:
		e.countedEvents[i].count, e.changed = event.count, true
	}
}

// eventLimitReached reports whether the kubelet's client might have dropped Events about the pod.
func (e *Evidence) eventLimitReached() bool {
	sent := 0
	for _, event := range e.countedEvents {
		sent += event.count
	}
	return sent >= spamLimit
}
