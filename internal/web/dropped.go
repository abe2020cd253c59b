package web

import "github.com/prometheus/client_golang/prometheus"

// dropped is the reason why a request or connection was refused or cut off.
type dropped string

// Values of dropped.
const (
	droppedRate       dropped = "request_rate"       // 429
	droppedBusy       dropped = "request_busy"       // 503
	droppedConnection dropped = "connection_share"   // the client already has its share
	droppedFull       dropped = "connection_full"    // all slots are taken and no connection yields
	droppedYielded    dropped = "connection_yielded" // to a client that has fewer
	droppedAnswer     dropped = "answer_not_read"    // its memory was needed
	droppedLarge      dropped = "answer_too_large"
	droppedHost       dropped = "host"       // requested under an unknown host name
	droppedCrossSite  dropped = "cross_site" // a page of another site in the reader's browser sent the request
)

// counters counts what the server dropped, by reason. It is safe for concurrent use.
type counters struct{ ended *prometheus.CounterVec }

// newCounters registers the counters, unless registerer is nil.
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
