package live

import (
	"fmt"
	"testing"
)

func floor(h *Hub) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.floor
}

// TestLog compares the log with a list of all events. A viewer that missed no event must receive the last event of
// each subject, in order. The size of the log must stay within its limit.
func TestLog(t *testing.T) {
	l := newLog()
	all := map[string]uint64{}
	size := 0
	for i := range 20_000 {
		subject := fmt.Sprint(i * i % 97)
		l.add(&Event{Kind: KindPod, subject: subject, data: make([]byte, i%5000)}, "e")
		all[subject] = l.last
		size = max(size, l.order.Len())
		if i%500 != 0 {
			continue
		}
		for _, from := range []uint64{l.floor, l.last - min(l.last, 50), l.last} {
			if from < l.floor {
				continue
			}
			given := map[string]uint64{}
			for at := from; ; {
				batch := l.eventsAfter(at)
				if len(batch) == 0 {
					break
				}
				for _, e := range batch {
					if e.number <= at {
						t.Fatalf("event %d after %d", e.number, at)
					}
					at = e.number
					given[e.subject] = e.number
				}
			}
			for subject, number := range all {
				if (number > from) != (given[subject] == number) {
					t.Fatalf("after %d: %s: received %d, the last is %d, the floor %d", from, subject, given[subject],
						number, l.floor)
				}
			}
		}
	}
	if l.bytes > maxBytes || size > 97 {
		t.Errorf("%d bytes, %d places", l.bytes, size)
	}
}
