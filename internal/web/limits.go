package web

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"github.com/podlapse/podlapse/internal/peer"
)

// Requests per second and at once, for all clients and for one. A page or kubectl podlapse explain
// sends a few, a scraper less than one per second.
const (
	serverRate, serverBurst = 100, 500
	clientRate, clientBurst = 20, 200
	// calmRate is guaranteed to every client, so that other clients cannot use up the rate of a scraper that sends one
	// request per second.
	calmRate, calmBurst = 1, 5
	// requestsAtOnce limits what requests hold while they wait for the API server, for a password
	// hash or for another slot. One request of each connection fits; with HTTP/2 there could be
	// more.
	requestsAtOnce = maxConnections
	// requestsOfOne is requestsAtOnce for one client; it leaves most slots to other clients.
	requestsOfOne = maxPerClient
	// requestPatience is how long a request may wait for a slot.
	requestPatience = 2 * time.Second
)

// maxClients is how many clients the limits distinguish; the one whose latest request is the oldest
// is forgotten. A node has some hundred pods. Each client takes about 200 bytes.
const maxClients = 1024

// limits refuses requests that exceed a limit. It is safe for concurrent use.
type limits struct {
	server  *rate.Limiter
	clients *peer.Latest[*pace]
	shares  *shares
	slots   slots
	answers *answers
	dropped counters
}

// pace limits the request rate of one client.
type pace struct{ calm, most *rate.Limiter }

func newLimits(dropped counters) *limits {
	return &limits{
		server: rate.NewLimiter(serverRate, serverBurst),
		clients: peer.NewLatest(maxClients, func() *pace {
			return &pace{rate.NewLimiter(calmRate, calmBurst), rate.NewLimiter(clientRate, clientBurst)}
		}),
		shares: newShares(requestsOfOne), slots: newSlots(requestsAtOnce),
		answers: newAnswers(dropped), dropped: dropped,
	}
}

// hold passes on requests within the limits. It writes the response after the request has released
// its slots.
func (l *limits) hold(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := peer.Of(r.RemoteAddr)
		if !l.allow(client) {
			l.dropped.count(droppedRate)
			writeRetry(w, http.StatusTooManyRequests, "too_many_requests", "too many requests; send fewer")
			return
		}
		made := &reply{ResponseWriter: w, answers: l.answers, client: client}
		defer l.answers.leave(made)
		l.answer(made, r, next)
		made.deliver()
	})
}

func (l *limits) allow(client netip.Prefix) bool {
	pace := l.clients.Of(client)
	return pace.most.Allow() && (pace.calm.Allow() || l.server.Allow())
}

// answer creates a response while the request has a slot.
func (l *limits) answer(w http.ResponseWriter, r *http.Request, next http.Handler) {
	leave, ok := l.shares.enter(r.RemoteAddr)
	if !ok {
		l.dropped.count(droppedBusy)
		writeBusy(w)
		return
	}
	defer leave()
	l.atMost(l.slots, requestPatience, next).ServeHTTP(w, r)
}

func writeBusy(w http.ResponseWriter) {
	writeRetry(w, http.StatusServiceUnavailable, "busy", "the agent is busy with other requests; try again")
}

// slots holds the slots for concurrent requests, and one that is reserved for clients that read
// their responses.
type slots struct{ all, kept chan struct{} }

func newSlots(most int) slots { return slots{make(chan struct{}, most), make(chan struct{}, 1)} }

// atMost passes on as many requests at once as there are slots. Others wait for a slot for at most
// patience, in the order in which they came.
func (l *limits) atMost(slots slots, patience time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := peer.Of(r.RemoteAddr)
		var kept chan struct{} // a send to nil blocks forever
		if l.answers.reads(client) {
			kept = slots.kept
		}
		left := enter(r.Context(), slots.all, kept, l.answers.waits(client, patience))
		if left == nil {
			l.dropped.count(droppedBusy)
			writeBusy(w)
			return
		}
		defer func() { <-left }()
		next.ServeHTTP(w, r)
	})
}

// enter takes one of the slots, or the reserved one, and returns the channel to release it to, or
// nil if none becomes free in time.
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
