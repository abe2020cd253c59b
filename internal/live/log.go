package live

import (
	"cmp"
	"slices"
)

// log holds the last event of each subject, in order of arrival, within maxBytes.
type log struct {
	events  []*Event // by number; nil if its subject has a later event
	numbers []uint64 // of the events, including those that are nil
	latest  map[string]*Event
	bytes   int
	last    uint64 // number of the last event
	floor   uint64 // number of the last event that was dropped: a viewer that has not seen it misses something
}

func newLog() log { return log{latest: map[string]*Event{}} }

// eventBytes is roughly what an event takes beside its frame.
const eventBytes = 1024

func (l *log) add(e *Event, epoch string) {
	l.last++
	e.settle(epoch, l.last)
	if before := l.latest[e.subject]; before != nil {
		l.events[l.index(before.number)] = nil
		l.bytes -= len(before.frame) + eventBytes
	}
	l.latest[e.subject] = e
	l.events, l.numbers = append(l.events, e), append(l.numbers, l.last)
	l.bytes += len(e.frame) + eventBytes
	for i := 0; l.bytes > maxBytes; i++ {
		if old := l.events[i]; old != nil {
			l.events[i] = nil
			l.bytes -= len(old.frame) + eventBytes
			l.floor = old.number
			delete(l.latest, old.subject)
		}
	}
	if len(l.events) > 2*len(l.latest)+maxBatch {
		l.compact()
	}
}

// compact removes the entries of dropped events.
func (l *log) compact() {
	kept := 0
	for i, e := range l.events {
		if e != nil {
			l.events[kept], l.numbers[kept] = e, l.numbers[i]
			kept++
		}
	}
	clear(l.events[kept:])
	l.events, l.numbers = l.events[:kept], l.numbers[:kept]
}

// index returns the index of the event with a number, or of the first one after it.
func (l *log) index(number uint64) int {
	i, _ := slices.BinarySearchFunc(l.numbers, number, cmp.Compare[uint64])
	return i
}

// after returns the first events after a number, at most maxBatch.
func (l *log) after(number uint64) []*Event {
	var batch []*Event
	for _, e := range l.events[l.index(number+1):] {
		if e != nil {
			if batch = append(batch, e); len(batch) == maxBatch {
				break
			}
		}
	}
	return batch
}
