package podwatch

import "github.com/prometheus/client_golang/prometheus"

// restartCollector collects the metrics of container restarts.
type restartCollector struct {
	pods *Pods
	desc *prometheus.Desc
}

// RestartMetrics returns a collector that exports the counts of Restarts.
func (p *Pods) RestartMetrics() prometheus.Collector {
	return restartCollector{p, prometheus.NewDesc("podlapse_container_restarts_total",
		"Container restarts of this node's pods, by container kind (\"init\", \"sidecar\" or \"main\") and by the "+
			"reason why the previous run ended. Includes restarts during and after the start-up. Excludes restarts "+
			"before the agent first saw the pod. The reason comes from the pod's status. reason=\"signal\": the "+
			"container crashed, or the kubelet killed the container, for example after a failed probe. "+
			"reason=\"unknown\": the pod's status contains no reason.", []string{"kind", "reason"}, nil)}
}

// Describe implements prometheus.Collector.
func (c restartCollector) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector.
func (c restartCollector) Collect(metrics chan<- prometheus.Metric) {
	counts := c.pods.Restarts()
	for _, kind := range RestartedKinds() {
		for _, reason := range RestartReasons() {
			metrics <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue,
				float64(counts[RestartKey{Kind: kind, Reason: reason}]), string(kind), string(reason))
		}
	}
}
