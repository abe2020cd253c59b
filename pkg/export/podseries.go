package export

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxPodSeries limits the series of one scrape: it is more pods than a node is designed for.
const maxPodSeries = 250

// podSeries reads the present pods at each scrape, so that a deleted pod has no series.
type podSeries struct {
	pods    func() []timeline.Timeline
	startup *prometheus.Desc
	age     *prometheus.Desc
	dropped prometheus.Counter
}

// NewPodSeries creates the collector of one series for each pod on the node, of a second series for each starting pod,
// and of the number of pods without series because of the limit.
func NewPodSeries(pods func() []timeline.Timeline) prometheus.Collector {
	return &podSeries{
		pods: pods,
		startup: prometheus.NewDesc("podlapse_pod_startup_seconds",
			"Duration of the start-up of a pod on this node. For a start-up in progress, the time so far.",
			[]string{"namespace", "pod", "workload_kind", "workload", "state"}, nil),
		age: prometheus.NewDesc("podlapse_pod_phase_age_seconds",
			"Time that a starting pod has been in its current phase, with the cause of that phase. Only pods in "+
				"podlapse_pod_startup_seconds.",
			[]string{"namespace", "pod", "phase", "cause"}, nil),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_pod_series_dropped_total",
			Help: "Series of podlapse_pod_startup_seconds omitted from scrapes because there were too many.",
		}),
	}
}

// Describe implements prometheus.Collector.
func (c *podSeries) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.startup
	descs <- c.age
	c.dropped.Describe(descs)
}

// Collect implements prometheus.Collector; it may run on several goroutines at once.
func (c *podSeries) Collect(metrics chan<- prometheus.Metric) {
	type podName struct{ namespace, name string }
	seen := map[podName]bool{} // the latest of a name comes first
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
		if n := len(t.Phases); n > 0 && t.State == timeline.StateStarting {
			current := t.Phases[n-1]
			metrics <- prometheus.MustNewConstMetric(c.age, prometheus.GaugeValue, current.Duration().Seconds(),
				name.namespace, name.name, string(current.Phase), string(current.Cause))
		}
	}
	c.dropped.Collect(metrics)
}
