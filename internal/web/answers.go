package web

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podlapse/podlapse/internal/peer"
)

const (
	// maxAnswer limits one response in memory, after compression. A list of 500 start-ups, or the
	// metrics of a node with 500 pods, is a quarter of it without compression.
	maxAnswer = 8 << 20
	// maxHeld limits all responses that are being created or written. The agent uses half of its 90
	// MiB; this limit leaves half of the rest for creating responses.
	maxHeld = 20 << 20
)

const (
	// stalledAfter is how long a client may stop reading a response before another response that waits may take the
	// memory. A network with 300 KB/s transfers one part (writtenAtOnce) in that time.
	stalledAfter = 50 * time.Millisecond
	// stalledReader is stalledAfter for a client that is known to read its responses. A node that
	// is short of CPU sometimes delays such a client by a second.
	stalledReader = 2 * time.Second
	// writtenAtOnce is the size of a part of a response. Progress is noted after each part.
	writtenAtOnce = 16 << 10
	// notReadFor is how long requests of a client are refused instead of waiting for a slot, after one of its responses
	// was cut off.
	notReadFor = 30 * time.Second
	// readFor is how long the agent remembers that a client reads its responses. It is longer than
	// a scrape interval.
	readFor = 10 * time.Minute
	// roomPatience is how long a response waits for memory.
	roomPatience = 3 * time.Second
	roomInterval = 10 * time.Millisecond
)

// answers accounts for the memory that responses take. It is safe for concurrent use.
type answers struct {
	dropped counters
	readers *peer.Latest[*reader]

	mu      sync.Mutex
	held    int
	writing []*reply
}

func newAnswers(dropped counters) *answers {
	return &answers{dropped: dropped, readers: peer.NewLatest(maxClients, func() *reader { return new(reader) })}
}

// reader records when a response to a client was last cut off and when one was last written to its
// end, in Unix nanoseconds.
type reader struct{ cutAt, readAt atomic.Int64 }

// reads reports whether a client read a response recently and had none cut off recently. A slot is
// reserved for such clients.
func (a *answers) reads(client netip.Prefix) bool {
	r, now := a.readers.Of(client), time.Now().UnixNano()
	return now-r.readAt.Load() < int64(readFor) && now-r.cutAt.Load() >= int64(readFor)
}

// waits returns how long a request may wait for a slot: zero if a response to the client was cut
// off recently.
func (a *answers) waits(client netip.Prefix, patience time.Duration) time.Duration {
	if time.Now().UnixNano()-a.readers.Of(client).cutAt.Load() < int64(notReadFor) {
		return 0
	}
	return patience
}

// grow reserves memory for more bytes of a response. If there is not enough, it waits until other
// responses have been read, and cuts off the one that has stalled the longest. It returns false if
// that is not enough.
func (a *answers) grow(r *reply, bytes int) bool {
	for end := time.Now().Add(roomPatience); ; time.Sleep(roomInterval) {
		if a.tryGrow(r, bytes) {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

func (a *answers) tryGrow(r *reply, bytes int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.held+bytes > maxHeld {
		stalled := a.stalled()
		if stalled == nil {
			return false
		}
		a.remove(stalled)
		stalled.cut()
		a.readers.Of(stalled.client).cutAt.Store(time.Now().UnixNano())
		a.dropped.count(droppedAnswer)
	}
	a.held += bytes
	r.held += bytes
	return true
}

// stalled returns the response that has stalled the longest, or nil if all are being read.
// Responses to clients that are known to read get a longer limit.
func (a *answers) stalled() *reply {
	var stalled *reply
	longest, now := time.Duration(0), time.Now().UnixNano()
	for _, r := range a.writing {
		limit := stalledAfter
		if a.reads(r.client) {
			limit = stalledReader
		}
		if over := time.Duration(now-r.readAt.Load()) - limit; over >= longest {
			stalled, longest = r, over
		}
	}
	return stalled
}

// write adds a response to those being written. Until leave, it may be cut off.
func (a *answers) write(r *reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.readAt.Store(time.Now().UnixNano())
	a.writing = append(a.writing, r)
}

// leave releases the memory that a response still holds.
func (a *answers) leave(r *reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remove(r)
}

func (a *answers) remove(r *reply) {
	a.held -= r.held
	r.held = 0
	if i := slices.Index(a.writing, r); i >= 0 {
		a.writing = slices.Delete(a.writing, i, i+1)
	}
}
