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
	// maxAnswer bounds one answer in memory, after compression: a list of 500 start-ups, or the
	// metrics of a node with 500 pods, is a quarter of it without compression.
	maxAnswer = 8 << 20
	// maxHeld bounds all answers that are being made or written. The agent uses half of its 90 MiB,
	// and this leaves half of the rest for what makes the answers.
	maxHeld = 20 << 20
)

const (
	// stalledAfter is how long a client may read nothing of an answer before its room is given to
	// another that waits: a network with 300 KB/s takes a part in that time.
	stalledAfter = 50 * time.Millisecond
	// stalledReader is the same for a client that is known to read its answers: a node that is
	// short of processors takes a second from it now and then.
	stalledReader = 2 * time.Second
	// writtenAtOnce is a part of an answer: what is written before it counts as read.
	writtenAtOnce = 16 << 10
	// notReadFor is how long a client whose answer was cut off gets its next ones only where nobody waits for them.
	notReadFor = 30 * time.Second
	// readFor is how long a client is known as one that reads its answers: longer than the pauses of a scraper.
	readFor = 10 * time.Minute
	// roomPatience is how long an answer waits for room.
	roomPatience = 3 * time.Second
	roomInterval = 10 * time.Millisecond
)

// answers counts the bytes of the answers that are in memory. It is safe for concurrent use.
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

// reader is when a client was last answered, in Unix nanoseconds: when an answer was cut off, and
// when one was written to its end.
type reader struct{ cutAt, readAt atomic.Int64 }

// reads says whether a client has read an answer lately, and has not let one be cut off. For those a place is kept.
func (a *answers) reads(client netip.Prefix) bool {
	r, now := a.readers.Of(client), time.Now().UnixNano()
	return now-r.readAt.Load() < int64(readFor) && now-r.cutAt.Load() >= int64(readFor)
}

// waits says how long a request may wait for a place: not at all if the client lately did not read
// what it was answered.
func (a *answers) waits(client netip.Prefix, patience time.Duration) time.Duration {
	if time.Now().UnixNano()-a.readers.Of(client).cutAt.Load() < int64(notReadFor) {
		return 0
	}
	return patience
}

// grow takes room for more bytes of an answer, and waits for it where there is none until others
// have been read. Of those that are not read, the one that has stalled the longest gives its room.
// It is false if that is not enough.
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

// stalled is the answer of which nothing was read for the longest, nil if all are being read. One
// of a client that is known to read its answers comes last.
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

// write adds an answer to those that are being written. Until leave, its reader may be cut off.
func (a *answers) write(r *reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.readAt.Store(time.Now().UnixNano())
	a.writing = append(a.writing, r)
}

// leave gives back what an answer still holds.
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
