package eventwatch

import (
	"sync/atomic"
	"testing"
	"time"
)

const (
	requestForAWithoutStarts   = requestForA + ",reason!=Created,reason!=Started"
	requestForAllWithoutStarts = requestForAll + ",reason!=Created,reason!=Started"
)

// TestWatchesWithoutStarts opens watches while the runtime responds, stops responding and responds again. All other
// Events of each pod must arrive once.
func TestWatchesWithoutStarts(t *testing.T) {
	var connected atomic.Bool
	inBubble(t, Config{WithoutStarts: connected.Load}, func(b *bubble) {
		connected.Store(true)
		b.arrive("ns", "a")()
		for _, reason := range []string{"Pulling", "Pulled", "Created", "Started", "BackOff"} {
			b.put("ns", "a", reason)
		}
		b.expect("a", "Pulling", "Pulled", "BackOff")
		b.sleep(10 * time.Second)
		b.expect("a", "watched")

		connected.Store(false) // the open watch stays as it is
		b.put("ns", "a", "Started")
		b.put("ns", "a", "Pulled")
		b.expect("a", "Pulled")
		b.server.BreakWatches() // the next watch delivers all Events
		b.sleep(10 * time.Second)
		b.put("ns", "a", "Started")
		if got := b.counts("a"); got["Started"] == 0 || got["Pulled"] > 0 {
			t.Errorf("after the runtime disconnected, observed %v", got)
		}
		b.take()

		connected.Store(true) // more pods share a watch
		b.arrive("ns", "bcde")()
		b.put("ns", "abcde", "Pulling")
		b.put("ns", "abcde", "Created")
		b.sleep(10 * time.Second)
		b.take()
		b.put("ns", "abcde", "Started")
		b.put("ns", "abcde", "Pulled")
		b.expect("abcde", "Pulled")
		got := b.requests()
		if got[requestForAWithoutStarts] != 1 || got[requestForA] != 1 || got[requestForAllWithoutStarts] != 1 {
			t.Errorf("requests %v", got)
		}
	})
}
