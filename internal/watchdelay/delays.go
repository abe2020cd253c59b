package watchdelay

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/histogram"
	"github.com/podlapse/podlapse/pkg/podwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// podBuckets begin at one second, the resolution of the timestamps.
var podBuckets = []float64{1, 2, 3, 5, 10, 30, 60, 120, 300}

// eventBuckets begin with the time that the kubelet needs to send an Event.
var eventBuckets = []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// Delays measures how late watches deliver. It is safe for concurrent use. It implements
// podwatch.Delays. Timestamps have whole seconds, so a pod's delay is up to one second too long. Delays from timestamps
// of the control plane also include the skew between its clock and the node's.
type Delays struct {
	ofPod   func(change, time.Duration)
	ofEvent prometheus.Histogram
}

// New registers the histograms, with one series for each kind of change of a pod.
func New(registerer prometheus.Registerer) *Delays {
	pods := prometheus.NewHistogramVec(histogram.Options("podlapse_pod_watch_delay_seconds",
		"Time from a change of a pod, by the object's timestamps, until the watch delivered it; excludes lists. The "+
			"timestamps have whole seconds, so a delay is up to 1 s too long; only clock skew can make it too "+
			"short. Changes: bound, the pod was bound to this node or created there; deleting, its deletion was "+
			"requested (the delay excludes the grace period); modified, the kubelet set a condition, which it "+
			"sends some time later; deleted, the object was removed at the kubelet's request. The timestamps of "+
			"bound and deleting are from the control plane's clock, the others from the kubelet's or the control "+
			"plane's clock. Only with --watch-delays.", podBuckets), []string{"change"})
	for _, c := range changes() {
		pods.WithLabelValues(string(c))
	}
	d := &Delays{
		ofPod: func(c change, late time.Duration) { pods.WithLabelValues(string(c)).Observe(late.Seconds()) },
		ofEvent: prometheus.NewHistogram(histogram.Options("podlapse_event_watch_delay_seconds",
			"Time from the creation of an Event by this node's kubelet, which the Event's name contains to the "+
				"nanosecond, until a watch delivered it. Includes the kubelet's queue, the API server and the "+
				"watch. Excludes repetitions of an Event, because their timestamps have whole seconds. Only with "+
				"--watch-delays.", eventBuckets)),
	}
	registerer.MustRegister(pods, d.ofEvent)
	return d
}

// Added implements podwatch.Delays. The watch never repeats events: it resumes where it ended.
func (d *Delays) Added(pod *corev1.Pod, at time.Time) { d.record(changeBound, boundAt(pod), at) }

// Changed implements podwatch.Delays.
func (d *Delays) Changed(known timeline.Pod, pod *corev1.Pod, at time.Time) {
	if requested := podwatch.DeletedAt(pod); known.DeletedAt.IsZero() && !requested.IsZero() {
		d.record(changeDeleting, requested, at)
		return
	}
	d.record(changeModified, changedAt(known.Conditions, pod.Status.Conditions), at)
}

// Deleted implements podwatch.Delays. While the object has a grace period, its timestamp is when
// deletion was requested, not when the object was removed.
func (d *Delays) Deleted(pod *corev1.Pod, at time.Time) {
	if grace := pod.DeletionGracePeriodSeconds; grace != nil && *grace == 0 {
		d.record(changeDeleted, podwatch.DeletedAt(pod), at)
	}
}

// Event adds a delay of an Event watch.
func (d *Delays) Event(late time.Duration) { d.ofEvent.Observe(late.Seconds()) }

// record adds the delay of a change of a pod, unless the object does not say when it happened.
func (d *Delays) record(c change, happened, delivered time.Time) {
	if !happened.IsZero() {
		d.ofPod(c, max(0, delivered.Sub(happened)))
	}
}
