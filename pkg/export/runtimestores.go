package export

import "github.com/prometheus/client_golang/prometheus"

// runtimeStores reads at each scrape which stores the runtime has.
type runtimeStores struct {
	served func() map[string]bool
	desc   *prometheus.Desc
}

// NewRuntimeStores creates the collector of podlapse_runtime_store_served. There is no sample while
// no runtime is connected.
func NewRuntimeStores(served func() map[string]bool) prometheus.Collector {
	return &runtimeStores{
		served: served,
		desc: prometheus.NewDesc("podlapse_runtime_store_served",
			"Whether the container runtime serves each of containerd's stores: 1 if it does, 0 if not. Without one, "+
				"timelines lose precision: sandboxes dates volumes and network, images the end of pulls, content "+
				"layers, snapshots unpacking.",
			[]string{"store"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *runtimeStores) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector; it may run on several goroutines at once.
func (c *runtimeStores) Collect(metrics chan<- prometheus.Metric) {
	for store, served := range c.served() {
		value := 0.0
		if served {
			value = 1
		}
		metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, value, store)
	}
}
