package export

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/internal/histogram"
	"github.com/podlapse/podlapse/internal/registrylabel"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// pullMetrics counts the pulls of all settled start-ups, including failed start-ups. pullMetrics also counts the pulls
// for ephemeral containers.
type pullMetrics struct {
	ended       *prometheus.CounterVec
	pull, queue *prometheus.HistogramVec
	unpack      prometheus.Histogram
	bytes       *prometheus.CounterVec
	sized       sizedMetrics
	busy        prometheus.Counter
	busyTime    busyTime
	failures    *prometheus.CounterVec
	lost        *prometheus.CounterVec
	registries  *registrylabel.Labels
}

func newPullMetrics(registerer prometheus.Registerer) *pullMetrics {
	m := &pullMetrics{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podlapse_image_pulls_total",
			Help: "Completed attempts to get a container's image, by container kind and outcome. " +
				"outcome=\"present\": the image was already on the node. Includes ephemeral containers, which are " +
				"not part of a start-up.",
		}, []string{"kind", "outcome"}),
		pull: prometheus.NewHistogramVec(histogram.Options("podlapse_image_pull_duration_seconds",
			"Duration of an image pull. The pull starts when the kubelet sends the request to the runtime, and ends "+
				"when the runtime responds. Excludes the wait in the node's pull queue. Also excludes images that "+
				"were already on the node, pulls of unknown duration, and pulls that resumed an interrupted "+
				"attempt."+registrylabel.Help,
			pullBuckets), []string{"registry", "outcome"}),
		queue: prometheus.NewHistogramVec(histogram.Options("podlapse_image_pull_queue_seconds",
			"Time that an image pull waits in the node's pull queue. The wait starts when the kubelet decides to "+
				"pull the image, and ends when the kubelet sends the request to the runtime. Covers the pulls in "+
				"podlapse_image_pull_duration_seconds whose wait is known."+
				registrylabel.Help,
			pullBuckets), []string{"registry"}),
		unpack: prometheus.NewHistogram(histogram.Options("podlapse_image_unpack_duration_seconds",
			"Time that the runtime spent unpacking the layers of one pull, during and after the download. Covers "+
				"the pulls that downloaded content. This metric is a native histogram without classic buckets.",
			nil)),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podlapse_image_pull_bytes_total",
			Help: "Compressed bytes of downloaded image layers. A layer that several pulls share counts once. " +
				"Excludes the bytes of pulls that resumed an interrupted attempt." + registrylabel.Help,
		}, []string{"registry"}),
		busy: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_image_pull_busy_seconds_total",
			Help: "Time during which at least one pull downloaded content. Covers the pulls in " +
				"podlapse_image_pull_bytes_total. To get the node's pull rate, divide the bytes of all registries " +
				"in podlapse_image_pull_bytes_total by this time.",
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podlapse_image_pull_failures_total",
			Help: "Failed attempts to pull an image, by the reason in the runtime's error." + registrylabel.ReasonHelp +
				registrylabel.Help,
		}, []string{"registry", "reason"}),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podlapse_events_lost_total",
			Help: "Kubelet Events that never reached the agent although an Event watch was open. Other evidence of " +
				"the start-up proves that the kubelet created these Events. For example, the kubelet drops " +
				"Events if it creates many Events about one pod.",
		}, []string{"reason"}),
		sized:      newSizedMetrics(registerer),
		registries: registrylabel.New(),
	}
	for _, kind := range timeline.ContainerKinds() {
		for _, outcome := range imagepull.Outcomes() {
			m.ended.WithLabelValues(string(kind), string(outcome))
		}
	}
	for _, reason := range []string{"Pulling", "Pulled"} {
		m.lost.WithLabelValues(reason)
	}
	registerer.MustRegister(m.ended, m.pull, m.queue, m.unpack, m.bytes, m.busy, m.failures, m.lost)
	return m
}

func (m *pullMetrics) observe(t timeline.Timeline, trace TraceOf) {
	for _, p := range t.Pulls {
		m.observePull(t, p, trace)
	}
	for _, lost := range t.LostEvents {
		reason, _, _ := strings.Cut(lost, "/")
		m.lost.WithLabelValues(reason).Inc()
	}
}

func (m *pullMetrics) observePull(t timeline.Timeline, p timeline.Pull, trace TraceOf) {
	if p.Outcome != imagepull.OutcomePulling && (p.Outcome != imagepull.OutcomeUnknown || !p.FinishedAt.IsZero()) {
		m.ended.WithLabelValues(string(p.Kind), string(p.Outcome)).Inc()
	}
	if !imagepull.IsPull(p.Outcome, p.RequestedAt, p.StartedAt, p.FinishedAt) {
		return
	}
	registry := m.registryLabel(t.Namespace, p)
	if p.Outcome == imagepull.OutcomeFailed {
		m.failures.WithLabelValues(registry, string(p.Failure.Counted(p.Unconfirmed))).Inc()
	}
	if bytes := p.Bytes(); bytes > 0 && !p.Resumed {
		m.bytes.WithLabelValues(registry).Add(float64(bytes))
		if !p.StartedAt.IsZero() {
			m.busy.Add(m.busyTime.addInterval(p.StartedAt, p.DownloadedAt).Seconds())
		}
	}
	if p.Sized() {
		m.sized.observe(registry, p)
	}
	if _, _, busy := p.Unpacking(); busy > 0 {
		trace.observeWithExemplar(m.unpack, t, busy)
	}
	if !p.Timed || p.Outcome == imagepull.OutcomePulling || p.Resumed {
		return
	}
	trace.observeWithExemplar(m.pull.WithLabelValues(registry, string(p.Outcome)), t, p.Pull)
	if p.QueueTimed {
		trace.observeWithExemplar(m.queue.WithLabelValues(registry), t, p.Queue)
	}
}

// registryLabel returns the label value for the registry of a pull. If a registry loses its own label value because of
// this pull, registryLabel deletes the series of that registry. If that registry later gets its own label value again,
// its new series begin at zero.
func (m *pullMetrics) registryLabel(namespace string, p timeline.Pull) string {
	label, lost := m.registries.Label(p.Registry, namespace, p.Confirmed)
	if lost != "" {
		for _, metric := range []interface {
			DeletePartialMatch(labels prometheus.Labels) int
		}{m.pull, m.queue, m.bytes, m.failures, m.sized.pulls, m.sized.seconds, m.sized.bytes, m.sized.unpack} {
			metric.DeletePartialMatch(prometheus.Labels{"registry": lost})
		}
	}
	return label
}
