package manifests

import (
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
)

// Each series gets its node, and the agent's own labels, which name pods, are unchanged.
func TestPodMonitor(t *testing.T) {
	for from, objects := range map[string][]object{"base": compose(t, "pod-monitor"),
		"chart": renderChart(t, "podMonitor: {enabled: true}")} {
		endpoint := find[*monitoringv1.PodMonitor](t, objects, "").Spec.PodMetricsEndpoints[0]
		if !endpoint.HonorLabels || *endpoint.Port != "metrics" || len(endpoint.RelabelConfigs) != 1 {
			t.Fatalf("%s: %+v", from, endpoint)
		}
		if r := endpoint.RelabelConfigs[0]; r.TargetLabel != "node" || len(r.SourceLabels) != 1 ||
			r.SourceLabels[0] != "__meta_kubernetes_pod_node_name" {
			t.Errorf("%s: relabels %+v", from, r)
		}
	}
}

// Operators select objects by their own labels.
func TestLabelsForOperators(t *testing.T) {
	objects := renderChart(t, `
podMonitor: {enabled: true, interval: 15s, labels: {release: ours}}
rules: {enabled: true, labels: {role: alerts}}
dashboard: {enabled: true, labels: {folder: nodes}}
`)
	monitor := find[*monitoringv1.PodMonitor](t, objects, "")
	if monitor.Labels["release"] != "ours" || monitor.Spec.PodMetricsEndpoints[0].Interval != "15s" {
		t.Errorf("monitor: %v, every %s", monitor.Labels, monitor.Spec.PodMetricsEndpoints[0].Interval)
	}
	if rules := find[*monitoringv1.PrometheusRule](t, objects, ""); rules.Labels["role"] != "alerts" {
		t.Errorf("rules: %v", rules.Labels)
	}
	if dashboard := find[*corev1.ConfigMap](t, objects, "podlapse-dashboard"); dashboard.Labels["folder"] != "nodes" ||
		dashboard.Labels["grafana_dashboard"] != "1" {
		t.Errorf("dashboard: %v", dashboard.Labels)
	}
}
