package web

import "github.com/prometheus/client_golang/prometheus"

// dropped is the reason why the server refused or cut off a request, a connection or a response.
type dropped string

// Values of dropped.
const (
	droppedRate       dropped = "request_rate"       // status 429: the request rate is too high
	droppedBusy       dropped = "request_busy"       // status 503: no slot became free in time
	droppedConnection dropped = "connection_share"   // the client already has its share of connections
	droppedFull       dropped = "connection_full"    // all slots are taken, and no open connection can give up its slot
	droppedYielded    dropped = "connection_yielded" // the connection was closed to give its slot to a new connection
	droppedResponse   dropped = "response_not_read"  // not enough memory, because clients do not read their responses
	droppedLarge      dropped = "response_too_large" // the response exceeds maxResponse
	droppedHost       dropped = "host"               // the request names an unknown host
	droppedCrossSite  dropped = "cross_site"         // a page of another site sent the request
)

// counters counts connections, requests and responses that the server dropped, by reason. counters is safe for
// concurrent use.
type counters struct{ ended *prometheus.CounterVec }

// newCounters registers the counters, unless registerer is nil.
func newCounters(registerer prometheus.Registerer) counters {
	c := counters{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_web_dropped_total",
		Help: "Connections, requests and responses that the agent's web server refused or cut off to protect itself " +
			"or its clients, by reason.",
	}, []string{"reason"})}
	for _, reason := range []dropped{droppedRate, droppedBusy, droppedConnection, droppedFull, droppedYielded,
		droppedResponse, droppedLarge,
		droppedHost, droppedCrossSite} {
		c.ended.WithLabelValues(string(reason))
	}
	if registerer != nil {
		registerer.MustRegister(c.ended)
	}
	return c
}

func (c counters) count(reason dropped) { c.ended.WithLabelValues(string(reason)).Inc() }
