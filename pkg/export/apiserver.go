package export

import "github.com/prometheus/client_golang/prometheus"

// Traffic is what the agent asked of the API server for one resource in one way.
type Traffic struct {
	Resource, Verb          string
	Requests, Failed, Bytes uint64
}

// traffic asks for the counts at each scrape.
type traffic struct {
	read                    func() []Traffic
	requests, failed, bytes *prometheus.Desc
}

// NewTraffic makes the collector of what the agent costs the API server.
func NewTraffic(read func() []Traffic) prometheus.Collector {
	labels := []string{"resource", "verb"}
	return &traffic{
		read: read,
		requests: prometheus.NewDesc("podlapse_apiserver_requests_total",
			"Requests that the agent sent to the API server; a watch is one.", labels, nil),
		failed: prometheus.NewDesc("podlapse_apiserver_request_failures_total",
			"Of the requests in podlapse_apiserver_requests_total, those without an answer or refused.", labels, nil),
		bytes: prometheus.NewDesc("podlapse_apiserver_received_bytes_total",
			"Bytes of the API server's answers to the agent, without headers; of a watch all that it sent so far.", labels, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *traffic) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.requests
	descs <- c.failed
	descs <- c.bytes
}

// Collect implements prometheus.Collector; it may run on several goroutines at once.
func (c *traffic) Collect(metrics chan<- prometheus.Metric) {
	for _, t := range c.read() {
		counter := func(desc *prometheus.Desc, value uint64) {
			metrics <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(value), t.Resource, t.Verb)
		}
		counter(c.requests, t.Requests)
		counter(c.failed, t.Failed)
		counter(c.bytes, t.Bytes)
	}
}
