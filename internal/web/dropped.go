package web

import "github.com/prometheus/client_golang/prometheus"

// dropped is why a client got less than it wanted.
type dropped string

// The reasons.
const (
	droppedRate       dropped = "request_rate"       // 429
	droppedBusy       dropped = "request_busy"       // 503
	droppedConnection dropped = "connection_share"   // a client has as many as it may
	droppedFull       dropped = "connection_full"    // there are as many as may be, and nobody yields
	droppedYielded    dropped = "connection_yielded" // to a client that has less
	droppedAnswer     dropped = "answer_not_read"    // its room was needed
	droppedLarge      dropped = "answer_too_large"
	droppedHost       dropped = "host"       // asked for under a foreign name
	droppedCrossSite  dropped = "cross_site" // a foreign page of the reader's browser asked
)

// counters count what was dropped. It is safe for concurrent use.
type counters struct{ ended *prometheus.CounterVec }

// newCounters registers them; nobody sees them if registerer is nil.
func newCounters(registerer prometheus.Registerer) counters {
	c := counters{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_web_dropped_total",
		Help: "Connections, requests and responses that the agent's web server refused or cut off to protect itself " +
			"or its clients, by reason.",
	}, []string{"reason"})}
	for _, reason := range []dropped{droppedRate, droppedBusy, droppedConnection, droppedFull, droppedYielded,
		droppedAnswer, droppedLarge,
		droppedHost, droppedCrossSite} {
		c.ended.WithLabelValues(string(reason))
	}
	if registerer != nil {
		registerer.MustRegister(c.ended)
	}
	return c
}

func (c counters) count(reason dropped) { c.ended.WithLabelValues(string(reason)).Inc() }
