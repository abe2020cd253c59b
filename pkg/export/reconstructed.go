package export

import "github.com/prometheus/client_golang/prometheus"

// Reconstructed counts start-ups that were reconstructed afterwards, by how.
type Reconstructed struct {
	Over     uint64 // completed before the agent started: shown, but in no other metric
	Restored uint64 // in progress across a restart of the agent, which passed on its observations
	Late     uint64 // first seen in a list: a part happened before the agent observed the pod
}

// reconstructed reads the counts at each scrape.
type reconstructed struct {
	read func() Reconstructed
	desc *prometheus.Desc
}

// NewReconstructed creates the collector of start-ups that were not observed from their beginning.
func NewReconstructed(read func() Reconstructed) prometheus.Collector {
	return &reconstructed{read: read, desc: prometheus.NewDesc("podlapse_evidence_reconstructed_total",
		"Start-ups whose timeline was reconstructed, counted when they ended: over, ended before the agent started "+
			"(these are in no other metric); restored, in progress during a restart of the agent with --state-dir; "+
			"late, first seen in a list instead of the open watch.",
		[]string{"how"}, nil)}
}

// Describe implements prometheus.Collector.
func (c *reconstructed) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector; it may run on several goroutines at once.
func (c *reconstructed) Collect(metrics chan<- prometheus.Metric) {
	now := c.read()
	for how, count := range map[string]uint64{"over": now.Over, "restored": now.Restored, "late": now.Late} {
		metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(count), how)
	}
}
