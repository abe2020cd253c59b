package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// podDelayBuckets begin where stamps of whole seconds begin to tell something.
var podDelayBuckets = []float64{1, 2, 3, 5, 10, 30, 60, 120, 300}

// eventDelayBuckets begin with what kubelet needs to send an Event.
var eventDelayBuckets = []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// WatchDelays are how late watches brought what they told. It is safe for concurrent use.
type WatchDelays struct {
	pods   *prometheus.HistogramVec
	events prometheus.Histogram
}

// NewWatchDelays registers the histograms, with one of each change of a pod.
func NewWatchDelays(registerer prometheus.Registerer, changes []string) *WatchDelays {
	d := &WatchDelays{
		pods: prometheus.NewHistogramVec(histogram("podlapse_pod_watch_delay_seconds",
			"Time from a change of a pod, by the object itself, until the watch brought it; not of what lists brought. The stamps have whole "+
				"seconds: each delay is up to 1 s longer than the truth, never shorter but for the clocks. By change: bound (to this node, or "+
				"created bound), deleting (asked for, without the grace period), both by the control plane's clock; modified (a condition of "+
				"kubelet's, which sends it some time later), deleted (when kubelet asked for that, without grace), by kubelet's or the control "+
				"plane's. There only with --watch-delays.", podDelayBuckets), []string{"change"}),
		events: prometheus.NewHistogram(histogram("podlapse_event_watch_delay_seconds",
			"Time from the moment at which this node's kubelet made an Event, to the nanosecond by its name, until a watch brought it: kubelet's "+
				"queue, the API server, the watch. First occurrences only: repetitions have whole seconds. There only with --watch-delays.",
			eventDelayBuckets)),
	}
	for _, change := range changes {
		d.pods.WithLabelValues(change)
	}
	registerer.MustRegister(d.pods, d.events)
	return d
}

// Pod adds a delay of the pod watch.
func (d *WatchDelays) Pod(change string, late time.Duration) {
	d.pods.WithLabelValues(change).Observe(late.Seconds())
}

// Event adds a delay of an Event watch.
func (d *WatchDelays) Event(late time.Duration) { d.events.Observe(late.Seconds()) }
