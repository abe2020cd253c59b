package cri

import "github.com/prometheus/client_golang/prometheus"

// metrics counts the requests to a Source by result. Any goroutine can use the counters.
type metrics struct{ responded, dropped, givenUp prometheus.Counter }

// newMetrics creates the metrics. If the registerer is not nil, newMetrics also registers the metrics.
func newMetrics(registerer prometheus.Registerer, s *Source) metrics {
	ended := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_runtime_requests_total",
		Help: "The agent's requests about pods to the container runtime, by result. result=\"responded\": the " +
			"runtime responded. result=\"dropped\": the agent did not send the request, because too many requests " +
			"were open. result=\"given_up\": the agent stopped its retries, because the runtime failed for too " +
			"long. If the agent still needs the response, it makes a new request.",
	}, []string{"result"})
	open := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "podlapse_runtime_requests_open",
		Help: "Pods for which the agent waits for a response from the container runtime.",
	}, func() float64 { return float64(s.pending.count()) })
	if registerer != nil {
		registerer.MustRegister(ended, open, newStoresCollector(s.Stores))
	}
	return metrics{
		responded: ended.WithLabelValues("responded"), dropped: ended.WithLabelValues("dropped"),
		givenUp: ended.WithLabelValues("given_up"),
	}
}

// storesCollector reports at each scrape which stores the runtime provides. If no runtime is connected, storesCollector
// reports nothing.
type storesCollector struct {
	served func() map[string]bool
	desc   *prometheus.Desc
}

func newStoresCollector(served func() map[string]bool) *storesCollector {
	return &storesCollector{
		served: served,
		desc: prometheus.NewDesc("podlapse_runtime_store_served",
			"Whether the container runtime provides each of containerd's stores: 1 if the runtime provides the "+
				"store, 0 if not. Without a store, timelines are less precise. The store \"sandboxes\" shows when "+
				"the phase \"volumes\" ended and the phase \"network\" began. The store \"images\" shows when a "+
				"pull ended. The store \"content\" shows when the runtime downloaded each layer. The store "+
				"\"snapshots\" shows when the runtime unpacked each layer.",
			[]string{"store"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *storesCollector) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector. Several goroutines can call Collect at the same time.
func (c *storesCollector) Collect(metrics chan<- prometheus.Metric) {
	for store, served := range c.served() {
		value := 0.0
		if served {
			value = 1
		}
		metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, value, store)
	}
}
