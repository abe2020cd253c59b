package probe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// buckets are the upper bounds of the histogram's buckets, in seconds. The lowest bound is for cached DNS lookups, and
// the highest bound is the default timeout.
var buckets = []float64{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5}

// Metrics is a Recorder that updates Prometheus metrics. /metrics and the OTLP export read these metrics.
type Metrics struct {
	up       *prometheus.GaugeVec
	attempts *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

var _ Recorder = (*Metrics)(nil)

// NewMetrics registers the metrics. For each given probe, NewMetrics creates the attempt counters with the value zero.
// NewMetrics panics if the metrics are already registered.
func NewMetrics(registerer prometheus.Registerer, probes []Probe) *Metrics {
	m := &Metrics{
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "podlapse_probe_up",
			Help: "1 if the latest attempt of the probe succeeded, 0 if it failed. Absent before the first attempt.",
		}, []string{"probe", "kind"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podlapse_probe_attempts_total",
			Help: "Probe attempts, by result.",
		}, []string{"probe", "kind", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "podlapse_probe_duration_seconds",
			Help: "Duration of each stage of a probe attempt: \"dns\", \"connect\", \"tls\", \"first_byte\" (from " +
				"the open connection to the first byte of the response) and \"total\" (the whole attempt). The label " +
				"\"result\" contains the result of the stage. For \"total\", the label \"result\" contains the " +
				"result of the attempt. If an attempt fails during a stage, the duration of this stage is the time " +
				"until the failure.",
			Buckets:                         buckets,
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  100,
			NativeHistogramMinResetDuration: time.Hour,
		}, []string{"probe", "kind", "stage", "result"}),
	}
	for _, p := range probes {
		m.addProbe(p.Name, p.Kind)
	}
	registerer.MustRegister(m.up, m.attempts, m.duration)
	return m
}

func (m *Metrics) addProbe(probe string, kind Kind) {
	for _, result := range Results() {
		m.attempts.WithLabelValues(probe, string(kind), string(result))
	}
}

// Record implements Recorder.
func (m *Metrics) Record(o Outcome) {
	up := 0.0
	if o.Result == ResultOK {
		up = 1
	}
	m.addProbe(o.Probe, o.Kind)
	m.up.WithLabelValues(o.Probe, string(o.Kind)).Set(up)
	m.attempts.WithLabelValues(o.Probe, string(o.Kind), string(o.Result)).Inc()
	observe := func(stage Stage, length time.Duration, result Result) {
		m.duration.WithLabelValues(o.Probe, string(o.Kind), string(stage), string(result)).Observe(length.Seconds())
	}
	observe(StageTotal, o.Length, o.Result)
	for _, s := range o.Stages {
		observe(s.Stage, s.Length, s.Result)
	}
}

// Forget implements Recorder.
func (m *Metrics) Forget(probe string) {
	labels := prometheus.Labels{"probe": probe}
	m.up.DeletePartialMatch(labels)
	m.attempts.DeletePartialMatch(labels)
	m.duration.DeletePartialMatch(labels)
}
