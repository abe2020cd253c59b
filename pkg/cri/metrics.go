package cri

import "github.com/prometheus/client_golang/prometheus"

// metrics counts a Source's queries by result. The counters may be used from any goroutine.
type metrics struct{ answered, dropped, givenUp prometheus.Counter }

// newMetrics also registers the metrics, unless the registerer is nil.
func newMetrics(registerer prometheus.Registerer, s *Source) metrics {
	ended := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_runtime_questions_total",
		Help: "Queries to the container runtime about a pod, by result: answered, dropped because too many were " +
			"open, given_up because the runtime kept failing. Queries that still matter are repeated.",
	}, []string{"result"})
	open := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "podlapse_runtime_questions_open",
		Help: "Pods with an unanswered query to the container runtime.",
	}, func() float64 { return float64(s.pending.count()) })
	if registerer != nil {
		registerer.MustRegister(ended, open, newStoresCollector(s.Stores))
	}
	return metrics{
		answered: ended.WithLabelValues("answered"), dropped: ended.WithLabelValues("dropped"),
		givenUp: ended.WithLabelValues("given_up"),
	}
}

// storesCollector reads at each scrape which stores the runtime serves. There is no sample while no
// runtime is connected.
type storesCollector struct {
	served func() map[string]bool
	desc   *prometheus.Desc
}

func newStoresCollector(served func() map[string]bool) *storesCollector {
	return &storesCollector{
		served: served,
		desc: prometheus.NewDesc("podlapse_runtime_store_served",
			"Whether the container runtime serves each of containerd's stores: 1 if it does, 0 if not. Timelines "+
				"are less precise without a store: sandboxes separates volumes and network, images dates the end "+
				"of pulls, content dates layers, and snapshots dates unpacking.",
			[]string{"store"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *storesCollector) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector; it may run on several goroutines at once.
func (c *storesCollector) Collect(metrics chan<- prometheus.Metric) {
	for store, served := range c.served() {
		value := 0.0
		if served {
			value = 1
		}
		metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, value, store)
	}
}
