package export

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxPods limits the number of pods with series in one scrape. Kubernetes is designed for at most 110 pods on
// each node.
const maxPods = 250

// podSeries reads the current pods at each scrape, so a deleted pod has no series.
type podSeries struct {
	pods    func() []timeline.Timeline
	startup *prometheus.Desc
	age     *prometheus.Desc
	dropped prometheus.Counter
}

// NewPodSeries creates the collector of three metrics: the start-up duration of each pod, the time since each starting
// pod entered its current phase, and the number of omitted series. If there are more than maxPods pods, a scrape omits
// the series of the remaining pods.
func NewPodSeries(pods func() []timeline.Timeline) prometheus.Collector {
	return &podSeries{
		pods: pods,
		startup: prometheus.NewDesc("podlapse_pod_startup_seconds",
			"Duration of the start-up of each pod on this node. While a pod is starting, the value is the time since "+
				"the creation of the pod. Excludes completed start-ups during which the node's clock was set.",
			[]string{"namespace", "pod", "workload_kind", "workload", "state"}, nil),
		age: prometheus.NewDesc("podlapse_pod_phase_age_seconds",
			"Time since a starting pod entered its current start-up phase, for example \"image_backoff\". The label "+
				"\"cause\" contains the cause of this phase. Covers the starting pods in "+
				"podlapse_pod_startup_seconds.",
			[]string{"namespace", "pod", "phase", "cause"}, nil),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_pod_series_dropped_total",
			Help: "Pods without a series of podlapse_pod_startup_seconds, because the node has too many pods. At " +
				"each scrape, this counter increases by the number of these pods.",
		}),
	}
}

// Describe implements prometheus.Collector.
func (c *podSeries) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.startup
	descs <- c.age
	c.dropped.Describe(descs)
}

// Collect implements prometheus.Collector. Several goroutines can call Collect at the same time.
func (c *podSeries) Collect(metrics chan<- prometheus.Metric) {
	type podName struct{ namespace, name string }
	seen := map[podName]bool{} // pod names with series; if several pods have the same name, only the latest gets series
	for _, t := range c.pods() {
		if t.ClockWasSet() && t.State != timeline.StateStarting {
			continue
		}
		name := podName{labelValue(t.Namespace, maxName), labelValue(t.Name, maxName)}
		if seen[name] {
			continue
		}
		if len(seen) == maxPods {
			c.dropped.Inc()
			continue
		}
		seen[name] = true
		metrics <- prometheus.MustNewConstMetric(c.startup, prometheus.GaugeValue, t.Total.Seconds(),
			name.namespace, name.name, labelValue(t.Owner.Kind, maxKind), labelValue(t.Owner.Name, maxName),
			string(t.State))
		if n := len(t.Phases); n > 0 && t.State == timeline.StateStarting {
			current := t.Phases[n-1]
			metrics <- prometheus.MustNewConstMetric(c.age, prometheus.GaugeValue, current.Duration().Seconds(),
				name.namespace, name.name, string(current.Phase), string(current.Cause))
		}
	}
	c.dropped.Collect(metrics)
}
