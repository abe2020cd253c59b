package manifests

import (
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
)

// The PodMonitor must add the node's name to each series. The PodMonitor must not change the labels that the agent
// sets, because some of these labels are names of pods.
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

// Each Prometheus operator selects objects by labels, which the user can set.
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

// The Prometheus of kube-prometheus-stack has these selectors by default. In its chart,
// podMonitorSelectorNilUsesHelmValues and ruleSelectorNilUsesHelmValues are true, and the namespace selectors are
// empty. Grafana's sidecar selects ConfigMaps in all namespaces by the label grafana_dashboard.
func TestObjectsMatchSelectorsOfKubePrometheusStack(t *testing.T) {
	for from, objects := range map[string][]object{
		"component": compose(t, "kube-prometheus-stack"),
		"chart":     renderChart(t, "kubePrometheusStack: {release: kube-prometheus-stack}"),
		"chart, with labels": renderChart(t, "kubePrometheusStack: {release: kube-prometheus-stack}\n"+
			"podMonitor: {labels: {team: nodes}}\nrules: {labels: {team: nodes}}\ndashboard: {labels: {team: nodes}}"),
	} {
		selected := map[string]object{
			"podMonitorSelector": find[*monitoringv1.PodMonitor](t, objects, ""),
			"ruleSelector":       find[*monitoringv1.PrometheusRule](t, objects, ""),
			"dashboards":         find[*corev1.ConfigMap](t, objects, "podlapse-dashboard"),
		}
		for name, o := range selected {
			if got := o.GetLabels()["release"]; got != "kube-prometheus-stack" {
				t.Errorf("%s: %s does not select %s, whose label release is %q", from, name, key(o), got)
			}
		}
		if got := selected["dashboards"].GetLabels()["grafana_dashboard"]; got != "1" {
			t.Errorf("%s: Grafana's sidecar does not select the dashboard: grafana_dashboard=%q", from, got)
		}
	}
	if text := string(read(t, chartDirectory(t), "values.yaml")); !strings.Contains(text, "METRICS_POD_LABELS: on") {
		t.Error("values.yaml does not name the setting that the dashboard's table of pods needs")
	}
}

// The rules need the label node_pool on the targets.
func TestPodMonitorNodePool(t *testing.T) {
	monitor := find[*monitoringv1.PodMonitor](t, renderChart(t,
		"podMonitor: {enabled: true, nodePoolLabel: eks.amazonaws.com/node-group}"), "").Spec
	if monitor.AttachMetadata == nil || monitor.AttachMetadata.Node == nil || !*monitor.AttachMetadata.Node {
		t.Error("attachMetadata.node is not true, so targets have no labels of the Node object")
	}
	if r := monitor.PodMetricsEndpoints[0].RelabelConfigs; len(r) != 2 || r[1].TargetLabel != "node_pool" ||
		len(r[1].SourceLabels) != 1 ||
		r[1].SourceLabels[0] != "__meta_kubernetes_node_label_eks_amazonaws_com_node_group" {
		t.Errorf("relabelings: %+v", r)
	}
}

func TestPodMonitorRelabelings(t *testing.T) {
	objects := renderChart(t, `
podMonitor:
  enabled: true
  relabelings: [{action: replace, targetLabel: cluster, replacement: east}]
  metricRelabelings: [{action: drop, sourceLabels: [__name__], regex: go_.*}]
`)
	endpoint := find[*monitoringv1.PodMonitor](t, objects, "").Spec.PodMetricsEndpoints[0]
	if r := endpoint.RelabelConfigs; len(r) != 2 || r[0].TargetLabel != "node" || r[1].TargetLabel != "cluster" {
		t.Errorf("relabelings: %+v", r)
	}
	if r := endpoint.MetricRelabelConfigs; len(r) != 1 || r[0].Regex != "go_.*" {
		t.Errorf("metric relabelings: %+v", r)
	}
}
