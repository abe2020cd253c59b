package web

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"github.com/podlapse/podlapse/internal/peer"
)

// Requests a second and at once, of all clients and of one. Explain and a page ask a few, a scraper less than one.
const (
	serverRate, serverBurst = 100, 500
	clientRate, clientBurst = 20, 200
	// calmRate is what every client has in any case, so that others cannot use it up for a scraper
	// that asks once a second.
	calmRate, calmBurst = 1, 5
	// requestsAtOnce bounds what requests hold while they wait, for the API server or for a
	// password's hash, or for another place. One of each connection is let in; over HTTP/2 there
	// could be more.
	requestsAtOnce = maxConnections
	// requestsOfOne leaves the most of them to others.
	requestsOfOne = maxPerClient
	// requestPatience is how long a request may wait for its turn.
	requestPatience = 2 * time.Second
)

// maxClients is how many clients are told apart by what they ask; the one that has asked for
// longest ago is forgotten. A node has some hundred pods. Each takes 200 bytes or so.
const maxClients = 1024

// limits refuses what is too much. It is safe for concurrent use.
type limits struct {
	server  *rate.Limiter
	clients *peer.Latest[*pace]
	shares  *shares
	places  places
	answers *answers
	dropped counters
}

// pace is how often one client may ask.
type pace struct{ calm, most *rate.Limiter }

func newLimits(dropped counters) *limits {
	return &limits{
		server: rate.NewLimiter(serverRate, serverBurst),
		clients: peer.NewLatest(maxClients, func() *pace {
			return &pace{rate.NewLimiter(calmRate, calmBurst), rate.NewLimiter(clientRate, clientBurst)}
		}),
		shares: newShares(requestsOfOne), places: newPlaces(requestsAtOnce),
		answers: newAnswers(dropped), dropped: dropped,
	}
}

// hold lets through what is within the limits. The answer is written when the request has given its places back.
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

// answer makes an answer while it has a place.
func (l *limits) answer(w http.ResponseWriter, r *http.Request, next http.Handler) {
	leave, ok := l.shares.enter(r.RemoteAddr)
	if !ok {
		l.dropped.count(droppedBusy)
		writeBusy(w)
		return
	}
	defer leave()
	l.atMost(l.places, requestPatience, next).ServeHTTP(w, r)
}

func writeBusy(w http.ResponseWriter) {
	writeRetry(w, http.StatusServiceUnavailable, "busy", "the agent is busy with other requests; try again")
}

// places are how many requests are answered at once, and one more that is kept for clients that read their answers.
type places struct{ all, kept chan struct{} }

func newPlaces(most int) places { return places{make(chan struct{}, most), make(chan struct{}, 1)} }

// atMost lets as many through at once as there are places. Others wait for one, for so long at
// most, in the order in which they came.
func (l *limits) atMost(places places, patience time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := peer.Of(r.RemoteAddr)
		var kept chan struct{} // nobody enters nil
		if l.answers.reads(client) {
			kept = places.kept
		}
		left := enter(r.Context(), places.all, kept, l.answers.waits(client, patience))
		if left == nil {
			l.dropped.count(droppedBusy)
			writeBusy(w)
			return
		}
		defer func() { <-left }()
		next.ServeHTTP(w, r)
	})
}

// enter takes one of the places, or the one that is kept, and returns where it has to be given
// back; nil if none is left in time.
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
