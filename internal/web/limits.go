package web

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"github.com/podlapse/podlapse/internal/peer"
)

// Limits on requests. A rate is the allowed number of requests per second. A burst is the allowed number of requests at
// once. The page and the command `kubectl podlapse explain` each send a few requests, and a scraper sends less than one
// request per second.
const (
	serverRate, serverBurst = 100, 500
	clientRate, clientBurst = 20, 200
	// Every client can send calmRate requests per second, even if other clients use up serverRate. A scraper sends
	// fewer requests than calmRate allows.
	calmRate, calmBurst = 1, 5
	// requestsAtOnce is the maximum number of requests in progress. Some of these requests can be waiting for the API
	// server, for a password hash, or for another slot. The limit is high enough for one request on each connection.
	// The limit is necessary because HTTP/2 clients can send several requests on one connection.
	requestsAtOnce = maxConnections
	// requestsOfOne is the limit for one client, so that most slots remain free for other clients.
	requestsOfOne = maxPerClient
	// requestPatience is the maximum time that a request waits for a slot.
	requestPatience = 2 * time.Second
)

// maxClients is the maximum number of clients that a limit remembers. If there are more than maxClients clients, the
// server forgets the client that has sent no request for the longest time. A node has at most a few hundred pods, so
// the limit leaves room for all pods of the node and for clients outside the node. The entry of a client takes about
// 200 bytes of memory, so all entries together take about 200 KiB.
const maxClients = 1024

// limits refuses requests that exceed a limit. It is safe for concurrent use.
type limits struct {
	server    *rate.Limiter
	clients   *peer.Latest[*pace]
	shares    *shares
	slots     slots
	responses *responses
	dropped   counters
}

// pace limits the request rate of one client. The field "calm" has the guaranteed rate, and the field "most" has the
// maximum rate.
type pace struct{ calm, most *rate.Limiter }

func newLimits(dropped counters) *limits {
	return &limits{
		server: rate.NewLimiter(serverRate, serverBurst),
		clients: peer.NewLatest(maxClients, func() *pace {
			return &pace{rate.NewLimiter(calmRate, calmBurst), rate.NewLimiter(clientRate, clientBurst)}
		}),
		shares: newShares(requestsOfOne), slots: newSlots(requestsAtOnce),
		responses: newResponses(dropped), dropped: dropped,
	}
}

// hold returns a handler that passes requests within the limits to the handler "next". The handler releases the slots
// of a request before it writes the response to the client.
func (l *limits) hold(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := peer.Of(r.RemoteAddr)
		if !l.allow(client) {
			l.dropped.count(droppedRate)
			writeRetry(w, http.StatusTooManyRequests, "too_many_requests",
				"too many requests: send fewer requests per second")
			return
		}
		made := &bufferedResponse{ResponseWriter: w, responses: l.responses, client: client}
		defer l.responses.leave(made)
		l.serveLimited(made, r, next)
		made.deliver()
	})
}

func (l *limits) allow(client netip.Prefix) bool {
	pace := l.clients.Of(client)
	return pace.most.Allow() && (pace.calm.Allow() || l.server.Allow())
}

// serveLimited takes a slot for the request and creates the response with the handler "next".
func (l *limits) serveLimited(w http.ResponseWriter, r *http.Request, next http.Handler) {
	leave, ok := l.shares.takeSlot(r.RemoteAddr)
	if !ok {
		l.dropped.count(droppedBusy)
		writeBusy(w)
		return
	}
	defer leave()
	l.atMost(l.slots, requestPatience, next).ServeHTTP(w, r)
}

func writeBusy(w http.ResponseWriter) {
	writeRetry(w, http.StatusServiceUnavailable, "busy", "the agent is busy with other requests: try again")
}

// slots limits concurrent requests. Each request takes a slot. The slot in the channel "kept" is reserved for clients
// that have read earlier responses.
type slots struct{ all, kept chan struct{} }

func newSlots(most int) slots { return slots{make(chan struct{}, most), make(chan struct{}, 1)} }

// atMost returns a handler that passes a request to the handler "next" when the request has a slot. The argument
// "patience" is the maximum time that a request waits for a slot. Waiting requests get slots in the order of their
// arrival.
func (l *limits) atMost(slots slots, patience time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := peer.Of(r.RemoteAddr)
		var kept chan struct{} // a send to a nil channel blocks forever
		if l.responses.isReader(client) {
			kept = slots.kept
		}
		left := enter(r.Context(), slots.all, kept, l.responses.maxWait(client, patience))
		if left == nil {
			l.dropped.count(droppedBusy)
			writeBusy(w)
			return
		}
		defer func() { <-left }()
		next.ServeHTTP(w, r)
	})
}

// enter takes a free slot from the channel "all". If "all" has no free slot, enter waits for a slot in "all" or for the
// reserved slot in the channel "kept". enter returns the channel of the slot. The caller releases the slot with a
// receive from the returned channel. If no slot becomes free in time, enter returns nil.
func enter(ctx context.Context, all, kept chan struct{}, wait time.Duration) chan struct{} {
	select {
	case all <- struct{}{}:
		return all
	default:
	}
	patience, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	select {
	case all <- struct{}{}:
		return all
	case kept <- struct{}{}:
		return kept
	case <-patience.Done():
		return nil
	}
}
