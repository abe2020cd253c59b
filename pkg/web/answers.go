package web

import (
	"net/netip"
	"slices"
	"sync"
)

const (
	// maxAnswer bounds one answer in memory, after compression: a list of 500 start-ups, or the metrics of a node with 500 pods, is
	// a quarter of it without compression.
	maxAnswer = 8 << 20
	// maxHeld bounds all answers that are being made or written. The agent uses half of its 90 MiB, and this leaves half of the
	// rest for what makes the answers.
	maxHeld = 20 << 20
)

// answers counts the bytes of the answers that are in memory. It is safe for concurrent use.
type answers struct {
	dropped counters

	mu      sync.Mutex
	held    int
	writing []*reply // the earliest first
}

// grow takes room for more bytes of an answer. Where there is none, readers that have not read yet give theirs: of the client
// whose answers take the most, the one that was there first. It is false if that is not enough.
func (a *answers) grow(r *reply, bytes int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.held+bytes > maxHeld {
		slowest := a.slowest()
		if slowest == nil {
			return false
		}
		a.remove(slowest)
		slowest.cut()
		a.dropped.count(droppedAnswer)
	}
	a.held += bytes
	r.held += bytes
	return true
}

// slowest is the answer whose reader yields first, nil if none is being written.
func (a *answers) slowest() *reply {
	held := map[netip.Prefix]int{}
	for _, r := range a.writing {
		held[r.client] += r.held
	}
	var slowest *reply
	for _, r := range a.writing {
		if slowest == nil || held[r.client] > held[slowest.client] {
			slowest = r
		}
	}
	return slowest
}

// write adds an answer to those that are being written. Until leave, its reader may be cut off.
func (a *answers) write(r *reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
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
