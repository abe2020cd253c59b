package export

import "github.com/prometheus/client_golang/prometheus"

// Traffic is the agent's requests to the API server for one resource with one verb.
type Traffic struct {
	Resource, Verb          string
	Requests, Failed, Bytes uint64
}

// traffic reads the counts at each scrape.
type traffic struct {
	read                    func() []Traffic
	requests, failed, bytes *prometheus.Desc
}

// NewTraffic creates the collector of the load that the agent puts on the API server.
func NewTraffic(read func() []Traffic) prometheus.Collector {
	labels := []string{"resource", "verb"}
	return &traffic{
		read: read,
		requests: prometheus.NewDesc("podlapse_apiserver_requests_total",
			"Requests that the agent sent to the API server. A watch counts as one request.", labels, nil),
		failed: prometheus.NewDesc("podlapse_apiserver_request_failures_total",
			"Requests in podlapse_apiserver_requests_total that were refused or got no response.", labels, nil),
		bytes: prometheus.NewDesc("podlapse_apiserver_received_bytes_total",
			"Bytes in the API server's responses to the agent, without headers. A watch counts the bytes received "+
				"so far.", labels, nil),
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
