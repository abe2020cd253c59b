package export

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// podDelayBuckets begin at the resolution of timestamps of whole seconds.
var podDelayBuckets = []float64{1, 2, 3, 5, 10, 30, 60, 120, 300}

// eventDelayBuckets begin with the time that the kubelet needs to send an Event.
var eventDelayBuckets = []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// WatchDelays measures how late watches deliver. It is safe for concurrent use.
type WatchDelays struct {
	pods   *prometheus.HistogramVec
	events prometheus.Histogram
}

// NewWatchDelays registers the histograms, with one for each change of a pod.
func NewWatchDelays(registerer prometheus.Registerer, changes []string) *WatchDelays {
	d := &WatchDelays{
		pods: prometheus.NewHistogramVec(histogram("podlapse_pod_watch_delay_seconds",
			"Time from a change of a pod, by the object's timestamps, until the watch delivered it; excludes lists. "+
				"The timestamps have whole seconds: a delay is up to 1 s too long, and never too short except by "+
				"clock skew. By change: bound (to this node, or created bound) and deleting (requested, without the "+
				"grace period), by the control plane's clock; modified (a condition set by the kubelet, which sends "+
				"it some time later) and deleted (requested by the kubelet, without grace), by the clock of the "+
				"kubelet or the control plane. Only with --watch-delays.", podDelayBuckets), []string{"change"}),
		events: prometheus.NewHistogram(histogram("podlapse_event_watch_delay_seconds",
			"Time from the creation of an Event by this node's kubelet, to the nanosecond by its name, until a "+
				"watch delivered it: the kubelet's queue, the API server, the watch. First occurrences only: "+
				"repetitions have whole seconds. Only with --watch-delays.",
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
