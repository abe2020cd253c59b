package export

import "github.com/prometheus/client_golang/prometheus"

// Restarts is how often containers of a kind were restarted for a reason.
type Restarts struct {
	Kind, Reason string
	Count        uint64
}

// restarts reads the counts at each scrape.
type restarts struct {
	read func() []Restarts
	desc *prometheus.Desc
}

// NewRestarts creates the collector of container restarts; read lists every kind and reason.
func NewRestarts(read func() []Restarts) prometheus.Collector {
	return &restarts{read: read, desc: prometheus.NewDesc("podlapse_container_restarts_total",
		"Container restarts of this node's pods since the agent first saw the pod, during start-up and after, by "+
			"kind (init, sidecar, main) and by the reason of the previous run's end in the pod's status: signal is "+
			"a crash or a kill by the kubelet, for example after a failed probe; unknown is a run whose end was not "+
			"seen.",
		[]string{"kind", "reason"}, nil)}
}

// Describe implements prometheus.Collector.
func (c *restarts) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector; it may run on several goroutines at once.
func (c *restarts) Collect(metrics chan<- prometheus.Metric) {
	for _, r := range c.read() {
		metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(r.Count), r.Kind, r.Reason)
	}
}
