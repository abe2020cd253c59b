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
	// maxResponse limits the size of one response in memory, after compression. Even without compression, a list of 500
	// start-ups needs only a quarter of maxResponse. The metrics of a node with 500 pods need only a quarter of
	// maxResponse.
	maxResponse = 8 << 20
	// maxHeld limits the total size of all responses in memory. The agent's memory limit is 90 MiB, and the agent
	// itself uses half of this memory. The other half of the memory limit, 45 MiB, remains for requests. maxHeld is
	// less than half of these 45 MiB, because the agent also needs memory to create responses.
	maxHeld = 20 << 20
)

const (
	// A response counts as stalled if it makes no progress for the time stalledAfter. Another response can take the
	// memory of a stalled response. At 300 KB/s, the network takes about 50 ms for one part of a response
	// (writtenAtOnce).
	stalledAfter = 50 * time.Millisecond
	// stalledReader replaces stalledAfter for a client that has read earlier responses. stalledReader is longer than
	// stalledAfter, because a node without free CPU sometimes delays a client by a second.
	stalledReader = 2 * time.Second
	// The agent writes a response in parts of writtenAtOnce bytes, and records the progress of the response after each
	// part.
	writtenAtOnce = 16 << 10
	// refusedAfterCut is a period that begins when the agent cuts off a response to a client. During this period, the
	// agent immediately refuses a request of the client if no slot is free.
	refusedAfterCut = 30 * time.Second
	// rememberedReader is how long the agent remembers that a client read a whole response. rememberedReader is longer
	// than a scrape interval.
	rememberedReader = 10 * time.Minute
	// roomPatience is the maximum time that a response waits for memory.
	roomPatience = 3 * time.Second
	// roomInterval is the interval at which a waiting response tries to get memory.
	roomInterval = 10 * time.Millisecond
)

// responses limits the memory of all responses. It is safe for concurrent use.
type responses struct {
	dropped counters
	readers *peer.Latest[*reader]

	mu      sync.Mutex
	held    int
	writing []*bufferedResponse
}

func newResponses(dropped counters) *responses {
	return &responses{dropped: dropped, readers: peer.NewLatest(maxClients, func() *reader { return new(reader) })}
}

// reader holds the times of a client's latest responses, in Unix nanoseconds. cutAt is the last time that the agent cut
// off a response. readAt is the last time that the client read a whole response.
type reader struct{ cutAt, readAt atomic.Int64 }

// isReader returns true if a client recently read a response, and if the agent has not recently cut off a response to
// this client. The server reserves a slot for clients that read their responses.
func (a *responses) isReader(client netip.Prefix) bool {
	r, now := a.readers.Of(client), time.Now().UnixNano()
	return now-r.readAt.Load() < int64(rememberedReader) && now-r.cutAt.Load() >= int64(rememberedReader)
}

// maxWait returns the maximum time that a request waits for a slot. maxWait returns zero if the agent recently cut off
// a response to the client.
func (a *responses) maxWait(client netip.Prefix, patience time.Duration) time.Duration {
	if time.Now().UnixNano()-a.readers.Of(client).cutAt.Load() < int64(refusedAfterCut) {
		return 0
	}
	return patience
}

// grow reserves memory for more bytes of a response. If there is not enough memory, grow cuts off stalled responses,
// starting with the response that has stalled the longest. If no response has stalled, grow waits until clients have
// read other responses. grow returns false if there is still not enough memory after roomPatience.
func (a *responses) grow(r *bufferedResponse, bytes int) bool {
	for end := time.Now().Add(roomPatience); ; time.Sleep(roomInterval) {
		if a.tryGrow(r, bytes) {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

func (a *responses) tryGrow(r *bufferedResponse, bytes int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.held+bytes > maxHeld {
		stalled := a.longestStalled()
		if stalled == nil {
			return false
		}
		a.remove(stalled)
		stalled.cut()
		a.readers.Of(stalled.client).cutAt.Store(time.Now().UnixNano())
		a.dropped.count(droppedResponse)
	}
	a.held += bytes
	r.held += bytes
	return true
}

// longestStalled returns the response that has stalled the longest, or nil if no response has stalled. If a client has
// read earlier responses, its response counts as stalled only after stalledReader.
func (a *responses) longestStalled() *bufferedResponse {
	var stalled *bufferedResponse
	longest, now := time.Duration(0), time.Now().UnixNano()
	for _, r := range a.writing {
		limit := stalledAfter
		if a.isReader(r.client) {
			limit = stalledReader
		}
		if over := time.Duration(now-r.readAt.Load()) - limit; over >= longest {
			stalled, longest = r, over
		}
	}
	return stalled
}

// addResponse adds a response to the list of responses that the server is writing. The agent can cut off any
// response in this list.
func (a *responses) addResponse(r *bufferedResponse) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.readAt.Store(time.Now().UnixNano())
	a.writing = append(a.writing, r)
}

// leave releases the memory of a response and removes the response from the list of responses that the server is
// writing.
func (a *responses) leave(r *bufferedResponse) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remove(r)
}

func (a *responses) remove(r *bufferedResponse) {
	a.held -= r.held
	r.held = 0
	if i := slices.Index(a.writing, r); i >= 0 {
		a.writing = slices.Delete(a.writing, i, i+1)
	}
}
