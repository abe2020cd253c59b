package node

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// MetricsConfig configures the collector. Every field except WarmUp is required.
type MetricsConfig struct {
	Health func() Health
	Addons func() AddonsState
	Now    func() time.Time
	WarmUp time.Duration
}

// metrics implements prometheus.Collector. At each scrape, the collector reads the current health and add-ons.
type metrics struct {
	config MetricsConfig

	info, condition, available, aspect, unavailable *prometheus.Desc
	pods, running, ready, podsAvailable             *prometheus.Desc
	restarts, addonsAvailable                       *prometheus.Desc
	droppedConditions, droppedAddons                prometheus.Counter
	droppedRestarts                                 *prometheus.Desc
}

// NewMetrics creates the collector of the node's health and add-ons. While the state of the node is unknown, the
// collector exports no samples of the node's health.
func NewMetrics(config MetricsConfig) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	addon := []string{"addon", "version", "controller"}
	dropped := func(what, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "podlapse_" + what + "_dropped_total", Help: help})
	}
	return &metrics{
		config: config,
		info: desc("podlapse_node_info", "Well-known labels of this node, as labels of this metric. The value is "+
			"always 1. If the node lacks a well-known label, the corresponding label of this metric is empty.",
			"node_pool", "zone", "region", "instance_type"),
		condition: desc("podlapse_node_condition", "Status of each condition of this node. The value is 1 for the "+
			"current status, and 0 for the other statuses. The statuses are \"true\", \"false\" and \"unknown\".",
			"condition", "status"),
		available: desc("podlapse_node_available", "Whether this node is available: 1 if the node is available, 0 "+
			"if not. An available node is ready, not cordoned, and at least as old as --node-warm-up."),
		aspect: desc("podlapse_node_availability", "Whether this node meets each requirement for its availability: "+
			"1 if the node meets the requirement, 0 if not. aspect=\"ready\": the node's Ready condition is true. "+
			"aspect=\"schedulable\": the node is not cordoned. aspect=\"warmed_up\": the Node object is at least as "+
			"old as --node-warm-up.", "aspect"),
		unavailable: desc("podlapse_node_unavailable", "Reasons why this node is not available. "+
			"The value is 1 while the reason applies. The label \"reason\" contains the reason from "+
			"the node's condition Ready, or one of \"Cordoned\", \"WarmingUp\", \"NodeObjectMissing\" and "+
			"\"ConditionMissing\".", "aspect", "reason"),
		pods: desc("podlapse_addon_pods", "Number of pods of each add-on. Only pods on this node count.", addon...),
		running: desc("podlapse_addon_pods_running", "Number of running pods of each add-on. A running pod "+
			"has the pod phase \"Running\". Only pods on this node count.", addon...),
		ready: desc("podlapse_addon_pods_ready",
			"Ready pods of each add-on on this node. The pod phase of these pods is \"Running\".", addon...),
		podsAvailable: desc("podlapse_addon_pods_available", "Pods in podlapse_addon_pods_ready without a container "+
			"restart in the last minute.", addon...),
		restarts: desc("podlapse_addon_restarts_total", "Container restarts of each add-on, by the exit code of "+
			"the previous run and by the reason why that run ended. Excludes restarts before the agent first saw "+
			"the pod. The label \"reason\" has the same values as in podlapse_container_restarts_total.",
			append(addon, "container", "reason", "exit_code")...),
		addonsAvailable: desc("podlapse_addons_available", "Whether this node and all pods of its add-ons are "+
			"available: 1 if all are available, 0 if not."),
		droppedConditions: dropped("node_conditions", "Conditions of this node that are missing from scrapes "+
			"because the node has too many conditions. At each scrape, this counter increases by the number of "+
			"these conditions."),
		droppedAddons: dropped("addons", "Add-ons that are missing from scrapes because the node has too many "+
			"add-ons, or because two add-ons in different namespaces have the same name. At each scrape, this "+
			"counter increases by the number of these add-ons."),
		droppedRestarts: desc("podlapse_addon_restarts_dropped_total",
			"Container restarts that podlapse_addon_restarts_total does not count. Either that metric has its "+
				"maximum number of series, or two add-ons in different namespaces have the same name."),
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.info, m.condition, m.available, m.aspect, m.unavailable, m.pods, m.running,
		m.ready,
		m.podsAvailable, m.restarts, m.addonsAvailable, m.droppedRestarts} {
		descs <- d
	}
	m.droppedConditions.Describe(descs)
	m.droppedAddons.Describe(descs)
}

// Collect implements prometheus.Collector. Several goroutines can call Collect at the same time.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	health, addons := m.config.Health(), m.config.Addons()
	available := m.collectHealth(health, gauge)
	if health.Known {
		gauge(m.addonsAvailable, truth(available && addons.Available))
	}
	for _, a := range addons.Addons {
		gauge(m.pods, float64(a.Pods), a.Name, a.Version, a.Controller)
		gauge(m.running, float64(a.Running), a.Name, a.Version, a.Controller)
		gauge(m.ready, float64(a.Ready), a.Name, a.Version, a.Controller)
		gauge(m.podsAvailable, float64(a.Available), a.Name, a.Version, a.Controller)
	}
	for kind, n := range addons.Restarts {
		out <- prometheus.MustNewConstMetric(m.restarts, prometheus.CounterValue, float64(n),
			kind.Name, kind.Version, kind.Controller, kind.Container, string(kind.Reason), kind.ExitCode)
	}
	m.droppedConditions.Add(float64(health.Dropped))
	m.droppedAddons.Add(float64(addons.DroppedAddons))
	m.droppedConditions.Collect(out)
	m.droppedAddons.Collect(out)
	out <- prometheus.MustNewConstMetric(m.droppedRestarts, prometheus.CounterValue, float64(addons.DroppedRestarts))
}

func (m *metrics) collectHealth(h Health, gauge func(*prometheus.Desc, float64, ...string)) (available bool) {
	if !h.Known {
		return false
	}
	if h.Exists {
		gauge(m.info, 1, h.Place.Pool, h.Place.Zone, h.Place.Region, h.Place.InstanceType)
	}
	for _, c := range h.Conditions {
		for _, status := range []string{"true", "false", "unknown"} {
			gauge(m.condition, truth(c.Status == status), c.Type, status)
		}
	}
	now := m.config.Now()
	for _, a := range h.Aspects(now, m.config.WarmUp) {
		gauge(m.aspect, truth(a.Given), a.Name)
		if !a.Given {
			gauge(m.unavailable, 1, a.Name, a.Reason)
		}
	}
	available = h.Available(now, m.config.WarmUp)
	gauge(m.available, truth(available))
	return available
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
