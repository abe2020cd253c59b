package eventwatch

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	opened, received prometheus.Counter
	open             prometheus.Gauge
	refused          refusedCounts
	starts           startCounts
	samples          sampleCounts
	expired          prometheus.Counter
	unshared         prometheus.Counter
	unserved         prometheus.Counter
	costly           prometheus.Counter
}

// startCounts counts opened watches by their starting point.
type startCounts struct{ revision, history, gap prometheus.Counter }

func (c startCounts) count(from startPoint) {
	switch {
	case from.history:
		c.history.Inc()
	case from.gap:
		c.gap.Inc()
	default:
		c.revision.Inc()
	}
}

// sampleCounts counts requests for the current resourceVersion of Events, by result.
type sampleCounts struct{ taken, failed prometheus.Counter }

// refusedCounts counts ignored Events by reason.
type refusedCounts struct {
	oversized prometheus.Counter // the Event or one of its identifiers is too long to come from the kubelet
	pod       prometheus.Counter // the Event has the UID of a requested pod, but another namespace, name or kind
	host      prometheus.Counter // the pod's earlier Events named this node, but this Event names another host
}

func newMetrics(registerer prometheus.Registerer, s *Source) metrics {
	byReason := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_events_refused_total",
		Help: "Events that the agent ignored because the kubelet cannot have created them, by reason. " +
			"reason=\"oversized\": the name, the UID or another identifier is too long, or the whole Event is too " +
			"large. reason=\"pod\": the Event has the UID of a pod, but a different namespace, name or kind. " +
			"reason=\"host\": an earlier Event about the pod came from this node, but this Event names another host.",
	}, []string{"reason"})
	byStart := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_event_watch_starts_total",
		Help: "Event watches that the API server accepted, by the starting point of the watch. from=\"revision\": " +
			"the resourceVersion when the first pod of the watch reached the node, or when the previous watch ended. " +
			"from=\"history\": the oldest Event of the watched namespace, because this namespace has few Events. " +
			"from=\"gap\": the next new Event, because the watched namespace has too many Events. With " +
			"from=\"gap\", the agent can miss earlier Events.",
	}, []string{"from"})
	bySample := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_event_revision_samples_total",
		Help: "Requests for the current resourceVersion of Events, by result. Event watches begin at this " +
			"resourceVersion. The agent also uses the resourceVersion to count how many objects change while a " +
			"watch is open. To get only the resourceVersion, the agent sends a list request that matches no Event.",
	}, []string{"result"})
	m := metrics{
		starts: startCounts{byStart.WithLabelValues("revision"), byStart.WithLabelValues("history"),
			byStart.WithLabelValues("gap")},
		samples: sampleCounts{bySample.WithLabelValues("taken"), bySample.WithLabelValues("failed")},
		expired: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_event_revisions_expired_total",
			Help: "Event watches that could not start at the requested resourceVersion, because the API server no " +
				"longer had the changes since this resourceVersion (status 410).",
		}),
		unserved: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_event_requests_unserved_total",
			Help: "Requests for a pod's Events that ended without a result after more than 5 seconds: no Event of " +
				"the pod arrived, and no Event watch delivered all existing Events. The timelines of these pods can " +
				"lack evidence about image pulls. A pod can have several requests. Excludes requests that end while " +
				"the agent has stopped all Event watches on the namespace of the pod " +
				"(podlapse_event_costly_namespaces_total).",
		}),
		unshared: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_event_watches_unshared_total",
			Help: "Event watches on whole namespaces that the agent replaced with watches on single pods. The agent " +
				"replaces a watch if it needs only a few of the many Events in the namespace.",
		}),
		costly: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_event_costly_namespaces_total",
			Help: "Number of times that the agent stopped all Event watches on a namespace for 10 to 15 minutes. The " +
				"agent stops the watches if many Events are created or deleted in the namespace, and the agent uses " +
				"few of these Events. The API server decodes each change once for each watch. Without Event watches, " +
				"timelines lack the pull queue and other phases.",
		}),
		opened: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_event_watches_opened_total",
			Help: "Event watches that the agent opened and that the API server accepted.",
		}),
		received: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_events_received_total",
			Help: "Kubelet Events that the API server sent to the agent. Includes Events that a new watch " +
				"received again, and Events that the agent does not need. Excludes messages about deleted Events.",
		}),
		open: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "podlapse_event_watches_open", Help: "Event watches that are open now.",
		}),
		refused: refusedCounts{
			oversized: byReason.WithLabelValues("oversized"),
			pod:       byReason.WithLabelValues("pod"),
			host:      byReason.WithLabelValues("host"),
		},
	}
	registerer.MustRegister(m.opened, m.received, m.open, byReason, byStart, bySample, m.expired, m.unshared,
		m.unserved, m.costly)
	registerComputed(registerer, s)
	return m
}

// registerComputed registers the metrics whose values the source computes for each scrape.
func registerComputed(registerer prometheus.Registerer, s *Source) {
	registerer.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "podlapse_event_watch_open_seconds_total",
			Help: "Total time that Event watches were open. A watch that several pods share counts once.",
		}, func() float64 { return s.openFor().Seconds() }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "podlapse_event_watch_waiting_pods",
			Help: "Pods that wait for an Event watch: too many Event watches are open (in total or on the " +
				"namespace of the pod), or the agent has stopped all Event watches on this namespace " +
				"(podlapse_event_costly_namespaces_total).",
		}, func() float64 { return float64(s.countWaiting()) }),
	)
}
