package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/internal/nodestart"
	"github.com/podlapse/podlapse/pkg/api"
)

// startUpMetrics implements prometheus.Collector. startUpMetrics exports nothing until the record of the start-up is
// final. If no workload pod became ready in time, startUpMetrics never exports anything.
type startUpMetrics struct {
	settled                     func() (api.NodeStartUpRecord, bool)
	total, phase, reconstructed *prometheus.Desc
}

// Metrics returns the collector of the node's start-up.
func (s *StartUp) Metrics() prometheus.Collector {
	return startUpMetrics{
		settled: s.finalRecord,
		total: prometheus.NewDesc("podlapse_node_startup_seconds", "Time from the last boot of the machine until "+
			"the first workload pod was ready. Absent until the record of the node's start-up is final. Stays "+
			"absent if no workload pod becomes ready within one hour after the start of the agent.", nil, nil),
		phase: prometheus.NewDesc("podlapse_node_startup_phase_seconds", "Duration of each phase of the node's "+
			"start-up. The durations of all phases add up to podlapse_node_startup_seconds.", []string{"phase"}, nil),
		reconstructed: prometheus.NewDesc("podlapse_node_startup_reconstructed", "Whether the node's start-up is "+
			"reconstructed: 1 if the start-up was over before the agent started, 0 if not.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (m startUpMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- m.total
	descs <- m.phase
	descs <- m.reconstructed
}

// Collect implements prometheus.Collector.
func (m startUpMetrics) Collect(out chan<- prometheus.Metric) {
	record, ok := m.settled()
	if !ok || record.State != string(nodestart.StateReady) {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	sums := map[string]float64{}
	for _, p := range record.Phases {
		sums[p.Phase] += p.Length.Duration().Seconds()
	}
	for _, phase := range nodestart.Phases() {
		gauge(m.phase, sums[string(phase)], string(phase))
	}
	gauge(m.total, record.Total.Duration().Seconds())
	gauge(m.reconstructed, truth(record.Reconstructed))
}
