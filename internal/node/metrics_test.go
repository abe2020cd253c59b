package node

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
)

func TestMetrics(t *testing.T) {
	var health Health
	addons := AddonsState{Available: true}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewMetrics(MetricsConfig{
		Health: func() Health { return health }, Addons: func() AddonsState { return addons }, Now: noon,
		WarmUp: 5 * time.Minute,
	}))
	names := []string{"podlapse_node_available", "podlapse_addons_available", "podlapse_node_availability"}
	if n, err := testutil.GatherAndCount(registry, names...); n != 0 || err != nil {
		t.Errorf("before the node is known there are %d series, %v", n, err)
	}
	health = HealthOf(readyNode(func(n *corev1.Node) {
		n.Spec.Unschedulable = true
		n.Labels = map[string]string{"cloud.google.com/gke-nodepool": "p", corev1.LabelTopologyZone: "z"}
	}))
	health.Dropped = 2
	dns := Addon{"dns", "1", "Deployment"}
	addons.Addons = []AddonState{{dns, 3, 2, 1, 0}}
	addons.Restarts = map[RestartKind]uint64{{dns, "app", "error", "7"}: 4}
	addons.DroppedAddons, addons.DroppedRestarts = 1, 9
	want := `
podlapse_addon_pods{addon="dns",controller="Deployment",version="1"} 3
podlapse_addon_pods_available{addon="dns",controller="Deployment",version="1"} 0
podlapse_addon_pods_ready{addon="dns",controller="Deployment",version="1"} 1
podlapse_addon_pods_running{addon="dns",controller="Deployment",version="1"} 2
podlapse_addon_restarts_dropped_total 9
podlapse_addon_restarts_total{addon="dns",container="app",controller="Deployment",exit_code="7",reason="error",` +
		`version="1"} 4
podlapse_addons_available 0
podlapse_addons_dropped_total 1
podlapse_node_availability{aspect="ready"} 1
podlapse_node_availability{aspect="schedulable"} 0
podlapse_node_availability{aspect="warmed_up"} 1
podlapse_node_available 0
podlapse_node_condition{condition="DiskPressure",status="false"} 1
podlapse_node_condition{condition="DiskPressure",status="true"} 0
podlapse_node_condition{condition="DiskPressure",status="unknown"} 0
podlapse_node_condition{condition="Ready",status="false"} 0
podlapse_node_condition{condition="Ready",status="true"} 1
podlapse_node_condition{condition="Ready",status="unknown"} 0
podlapse_node_conditions_dropped_total 2
podlapse_node_info{instance_type="",node_pool="p",region="",zone="z"} 1
podlapse_node_unavailable{aspect="schedulable",reason="Cordoned"} 1
`
	if got := samples(t, registry); got != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant%s", got, want)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	// The node is available, and an add-on is not.
	health = HealthOf(readyNode(func(*corev1.Node) {}))
	for available, text := range map[bool]string{true: "podlapse_addons_available 1",
		false: "podlapse_addons_available 0"} {
		addons.Available = available
		got := samples(t, registry)
		if !strings.Contains(got, text) || !strings.Contains(got, "podlapse_node_available 1") ||
			strings.Contains(got, "podlapse_node_unavailable{") {
			t.Errorf("all add-ons available: %t, got\n%s", available, got)
		}
	}
}

// samples returns the metrics of a registry as text, without help and types.
func samples(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	for line := range strings.Lines(text.String()) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}
