package web

import (
	"context"
	"hash/maphash"
	"net/http"
	"time"

	"golang.org/x/time/rate"
)

// Requests a second and at once, of all clients and of one. Explain and a page ask a few, a scraper less than one.
const (
	serverRate, serverBurst = 100, 500
	clientRate, clientBurst = 20, 200
	// requestsAtOnce bounds what requests hold while they wait, for the API server or for a password's hash.
	requestsAtOnce = 64
)

// clientBuckets is in how many parts clients fall. Two that fall in one share a rate; nothing grows with their number.
const clientBuckets = 256

// limits refuses what is too much. It is safe for concurrent use.
type limits struct {
	server  *rate.Limiter
	clients [clientBuckets]*rate.Limiter
	seed    maphash.Seed
	places  chan struct{}
}

func newLimits() *limits {
	l := &limits{
		server: rate.NewLimiter(serverRate, serverBurst), seed: maphash.MakeSeed(), places: make(chan struct{}, requestsAtOnce),
	}
	for i := range l.clients {
		l.clients[i] = rate.NewLimiter(clientRate, clientBurst)
	}
	return l
}

// hold lets through what is within the limits.
func (l *limits) hold(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := l.clients[maphash.Comparable(l.seed, clientOf(r.RemoteAddr))%clientBuckets]
		if !client.Allow() || !l.server.Allow() {
			writeRetry(w, http.StatusTooManyRequests, "too_many_requests", "more requests than the agent answers; ask less often")
			return
		}
		atMost(l.places, 0, next).ServeHTTP(w, r)
	})
}

// atMost lets as many through at once as there are places. Others wait for one, for so long at most.
func atMost(places chan struct{}, wait time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !enter(r.Context(), places, wait) {
			writeRetry(w, http.StatusServiceUnavailable, "busy", "the agent answers as many requests as it can at once; try again")
			return
		}
		defer func() { <-places }()
		next.ServeHTTP(w, r)
	})
}

func enter(ctx context.Context, places chan struct{}, wait time.Duration) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
	}
	patience, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	select {
	case places <- struct{}{}:
		return true
	case <-patience.Done():
		return false
	}
}
