package export

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/internal/registrylabel"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// sizedMetrics counts the sized pulls (timeline.Pull.Sized). All counters of sizedMetrics cover the same pulls, so the
// ratio of two of these counters is correct. Pulls whose bytes are unknown are in none of these counters.
type sizedMetrics struct {
	pulls, seconds, bytes, unpack *prometheus.CounterVec
}

func newSizedMetrics(registerer prometheus.Registerer) sizedMetrics {
	byRegistry := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help + registrylabel.Help},
			[]string{"registry"})
	}
	m := sizedMetrics{
		pulls: byRegistry("podlapse_image_pulls_sized_total",
			"Sized pulls. A sized pull meets three conditions: it downloaded content, its duration is known, and "+
				"all its downloaded bytes are known and belong to this pull alone."),
		seconds: byRegistry("podlapse_image_pull_sized_seconds_total",
			"Total duration of sized pulls. The metric podlapse_image_pulls_sized_total defines sized pulls."),
		bytes: byRegistry("podlapse_image_pull_sized_bytes_total",
			"Downloaded bytes of sized pulls, compressed. The metric podlapse_image_pulls_sized_total defines sized "+
				"pulls."),
		unpack: byRegistry("podlapse_image_pull_sized_unpack_seconds_total",
			"Total time that the runtime spent on unpacking the layers of sized pulls. The metric "+
				"podlapse_image_pulls_sized_total defines sized pulls."),
	}
	registerer.MustRegister(m.pulls, m.seconds, m.bytes, m.unpack)
	return m
}

func (m sizedMetrics) observe(registry string, p timeline.Pull) {
	m.pulls.WithLabelValues(registry).Inc()
	m.seconds.WithLabelValues(registry).Add(p.Pull.Seconds())
	m.bytes.WithLabelValues(registry).Add(float64(p.Bytes()))
	_, _, busy := p.Unpacking()
	m.unpack.WithLabelValues(registry).Add(busy.Seconds())
}
