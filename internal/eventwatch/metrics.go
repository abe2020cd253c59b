package eventwatch

import "github.com/prometheus/client_golang/prometheus"

// The type metrics counts watches and Events.
type metrics struct {
	opened, received prometheus.Counter
	open             prometheus.Gauge
	refused          refused
}

// The type refused counts ignored Events by reason.
type refused struct {
	oversized prometheus.Counter // the Event is longer than any Event of the kubelet
	pod       prometheus.Counter // the Event has the UID of a requested pod, but another namespace, name or kind
	host      prometheus.Counter // the pod's earlier Events named this node, but this Event names another host
}

func newMetrics(registerer prometheus.Registerer, s *Source) metrics {
	byReason := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_events_refused_total",
		Help: "Events that the agent ignored because the kubelet cannot have created them, by reason. " +
			"reason=\"oversized\": the name, the UID or the whole Event is too long. reason=\"pod\": the Event has " +
			"the UID of a pod, but not the namespace, name or kind of this pod. reason=\"host\": the Event and the " +
			"pod's earlier Events name different hosts.",
	}, []string{"reason"})
	m := metrics{
		opened: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_event_watches_opened_total",
			Help: "Event watches that the agent opened and that the API server accepted.",
		}),
		received: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_events_received_total",
			Help: "Kubelet Events that the API server sent to the agent. Includes Events that a new watch repeated, " +
				"and Events about pods that do not need Events.",
		}),
		open: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "podlapse_event_watches_open", Help: "Event watches that are open now.",
		}),
		refused: refused{
			oversized: byReason.WithLabelValues("oversized"),
			pod:       byReason.WithLabelValues("pod"),
			host:      byReason.WithLabelValues("host"),
		},
	}
	registerer.MustRegister(m.opened, m.received, m.open, byReason,
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "podlapse_event_watch_open_seconds_total",
			Help: "Sum of the times for which Event watches were open. A watch that several pods share counts once.",
		}, func() float64 { return s.openFor().Seconds() }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "podlapse_event_watch_waiting_pods",
			Help: "Pods that wait for an Event watch because the maximum number of Event watches is open.",
		}, func() float64 { return float64(s.waiting()) }),
	)
	return m
}
