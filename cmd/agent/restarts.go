package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/podwatch"
)

// The type restarts collects the metrics of container restarts.
type restarts struct {
	counts func() map[podwatch.RestartKey]uint64 // a missing key means zero restarts
	desc   *prometheus.Desc
}

func newRestarts(counts func() map[podwatch.RestartKey]uint64) prometheus.Collector {
	return &restarts{counts, prometheus.NewDesc("podlapse_container_restarts_total",
		"Container restarts of this node's pods since the agent first saw each pod, during and after start-up, by "+
			"kind (init, sidecar, main) and by the reason for the end of the previous run. The reason comes from "+
			"the pod's status. Reason signal is a crash or a kill by the kubelet, for example after a failed "+
			"probe. Reason unknown is a run whose end the agent did not see.", []string{"kind", "reason"}, nil)}
}

// Describe implements prometheus.Collector.
func (r *restarts) Describe(descs chan<- *prometheus.Desc) { descs <- r.desc }

// Collect implements prometheus.Collector.
func (r *restarts) Collect(metrics chan<- prometheus.Metric) {
	counts := r.counts()
	for _, kind := range podwatch.RestartedKinds() {
		for _, reason := range podwatch.RestartReasons() {
			metrics <- prometheus.MustNewConstMetric(r.desc, prometheus.CounterValue,
				float64(counts[podwatch.RestartKey{Kind: kind, Reason: reason}]), string(kind), string(reason))
		}
	}
}
