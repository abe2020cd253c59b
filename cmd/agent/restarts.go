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
		"Container restarts of this node's pods, by container kind (\"init\", \"sidecar\" or \"main\") and by the "+
			"reason for the end of the previous run. Includes restarts during and after the start-up, but not "+
			"restarts before the agent first saw the pod. The reason comes from the pod's status. reason=\"signal\": "+
			"the container crashed, or the kubelet killed the container, for example after a failed probe. "+
			"reason=\"unknown\": the pod's status contains no reason.", []string{"kind", "reason"}, nil)}
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
