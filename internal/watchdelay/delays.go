package watchdelay

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/histogram"
	"github.com/podlapse/podlapse/pkg/podwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// podBuckets start at one second, which is the resolution of the timestamps.
var podBuckets = []float64{1, 2, 3, 5, 10, 30, 60, 120, 300}

// eventBuckets start at 10 ms, which is about the time that the kubelet needs to send an Event.
var eventBuckets = []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// Delays measures how late the pod watch and the Event watches deliver changes. Delays is safe for concurrent use.
// Delays implements podwatch.Delays. The timestamps in a pod object have a resolution of one second. So the measured
// delay of a pod's change can be up to one second too long. If the timestamp comes from the control plane, the delay
// includes the difference between the control plane's clock and the node's clock.
type Delays struct {
	ofPod   func(changeKind, time.Duration)
	ofEvent prometheus.Histogram
}

// New registers the histograms. The histogram of pods has one series for each kind of change.
func New(registerer prometheus.Registerer) *Delays {
	pods := prometheus.NewHistogramVec(histogram.Options("podlapse_pod_watch_delay_seconds",
		"Time from a change of a pod until the pod watch delivered the change. The agent reads the time of the "+
			"change from a timestamp in the pod object. Such a timestamp has a resolution of one second, so a delay "+
			"can be up to 1 s too long. Excludes changes that the agent first saw in a list. change=\"bound\": the "+
			"pod was bound to this node, or created on this node. change=\"modified\": the kubelet changed a "+
			"condition of the pod. change=\"deleting\": a client requested the deletion of the pod. "+
			"change=\"deleted\": the API server removed the pod object. Requires "+
			"--watch-delays.", podBuckets), []string{"change"})
	for _, c := range allChanges() {
		pods.WithLabelValues(string(c))
	}
	d := &Delays{
		ofPod: func(c changeKind, late time.Duration) { pods.WithLabelValues(string(c)).Observe(late.Seconds()) },
		ofEvent: prometheus.NewHistogram(histogram.Options("podlapse_event_watch_delay_seconds",
			"Time from the moment when this node's kubelet created an Event until an Event watch delivered the "+
				"Event. The agent reads the creation time from the Event's name, which contains nanoseconds. The "+
				"delay includes the kubelet's queue, the API server and the watch. Excludes repeated Events: their "+
				"names do not change, and their timestamps have a resolution of one second. Requires "+
				"--watch-delays.", eventBuckets)),
	}
	registerer.MustRegister(pods, d.ofEvent)
	return d
}

// Added implements podwatch.Delays. If the watch is interrupted, it continues from the resourceVersion of its last
// event. So the watch delivers no event twice.
func (d *Delays) Added(pod *corev1.Pod, at time.Time) { d.record(changeBound, boundAt(pod), at) }

// Changed implements podwatch.Delays.
func (d *Delays) Changed(known timeline.Pod, pod *corev1.Pod, at time.Time) {
	if requested := podwatch.DeletedAt(pod); known.DeletedAt.IsZero() && !requested.IsZero() {
		d.record(changeDeleting, requested, at)
		return
	}
	d.record(changeModified, changedAt(known.Conditions, pod.Status.Conditions), at)
}

// Deleted implements podwatch.Delays. Deleted adds the delay only if the object's grace period is zero. If the grace
// period is not zero, the timestamp is the time of the deletion request, not the time of the removal.
func (d *Delays) Deleted(pod *corev1.Pod, at time.Time) {
	if grace := pod.DeletionGracePeriodSeconds; grace != nil && *grace == 0 {
		d.record(changeDeleted, podwatch.DeletedAt(pod), at)
	}
}

// Event adds a delay of an Event watch.
func (d *Delays) Event(late time.Duration) { d.ofEvent.Observe(late.Seconds()) }

// record adds the delay of a pod's change. record ignores a change without a timestamp.
func (d *Delays) record(c changeKind, happened, delivered time.Time) {
	if !happened.IsZero() {
		d.ofPod(c, max(0, delivered.Sub(happened)))
	}
}
