package live

import "container/list"

// log holds the last event of each pod, and the last event about pulls, in the order of arrival. The size of the log is
// at most maxBytes.
type log struct {
	order  *list.List               // list of *Event, oldest first
	latest map[string]*list.Element // elements of the list "order", by subject
	bytes  int
	last   uint64 // number of the last event
	floor  uint64 // number of the last dropped event; a viewer that missed this event must request all pods again
}

func newLog() log { return log{order: list.New(), latest: map[string]*list.Element{}} }

// eventBytes is the approximate memory of an Event, without the encoded text in the field "frame".
const eventBytes = 1024

func (l *log) add(e *Event, epoch string) {
	l.last++
	e.createFrame(epoch, l.last)
	if before := l.latest[e.subject]; before != nil {
		l.remove(before)
	}
	l.latest[e.subject] = l.order.PushBack(e)
	l.bytes += len(e.frame) + eventBytes
	for l.bytes > maxBytes {
		l.floor = l.remove(l.order.Front()).number
	}
}

func (l *log) remove(element *list.Element) *Event {
	e := l.order.Remove(element).(*Event)
	delete(l.latest, e.subject)
	l.bytes -= len(e.frame) + eventBytes
	return e
}

// eventsAfter returns the oldest events whose number is greater than the given number, but at most maxBatch events.
func (l *log) eventsAfter(number uint64) []*Event {
	var next *list.Element
	for e := l.order.Back(); e != nil && e.Value.(*Event).number > number; e = e.Prev() {
		next = e
	}
	var batch []*Event
	for ; next != nil && len(batch) < maxBatch; next = next.Next() {
		batch = append(batch, next.Value.(*Event))
	}
	return batch
}
