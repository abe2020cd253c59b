package export

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxPodSeries limits the series of one scrape. Nodes are designed for fewer pods.
const maxPodSeries = 250

// podSeries reads the current pods at each scrape, so a deleted pod has no series.
type podSeries struct {
	pods    func() []timeline.Timeline
	startup *prometheus.Desc
	dropped prometheus.Counter
}

// NewPodSeries creates the collector of one series for each pod on the node. NewPodSeries also counts the pods
// that have no series because of the limit.
func NewPodSeries(pods func() []timeline.Timeline) prometheus.Collector {
	return &podSeries{
		pods: pods,
		startup: prometheus.NewDesc("podlapse_pod_startup_seconds",
			"Duration of the start-up of a pod on this node. While the pod is starting, the time since its creation.",
			[]string{"namespace", "pod", "workload_kind", "workload", "state"}, nil),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_pod_series_dropped_total",
			Help: "Series of podlapse_pod_startup_seconds that scrapes omitted because the node had too many pods.",
		}),
	}
}

// Describe implements prometheus.Collector.
func (c *podSeries) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.startup
	c.dropped.Describe(descs)
}

// Collect implements prometheus.Collector. Several goroutines can call Collect at the same time.
func (c *podSeries) Collect(metrics chan<- prometheus.Metric) {
	type podName struct{ namespace, name string }
	seen := map[podName]bool{} // of several pods with the same name, the latest comes first
	for _, t := range c.pods() {
		name := podName{labelValue(t.Namespace, maxName), labelValue(t.Name, maxName)}
		if seen[name] {
			continue
		}
		if len(seen) == maxPodSeries {
			c.dropped.Inc()
			continue
		}
		seen[name] = true
		metrics <- prometheus.MustNewConstMetric(c.startup, prometheus.GaugeValue, t.Total.Seconds(),
			name.namespace, name.name, labelValue(t.Owner.Kind, maxKind), labelValue(t.Owner.Name, maxName),
			string(t.State))
	}
	c.dropped.Collect(metrics)
}
