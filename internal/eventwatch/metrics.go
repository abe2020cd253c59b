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
		Help: "Events that the agent ignored because they cannot come from this node's kubelet, by reason. " +
			"reason=\"oversized\": the name, the UID or another identifier is too long, or the whole Event is too " +
			"large. reason=\"pod\": the Event has the UID of a watched pod, but the namespace, the name or the kind " +
			"differs. reason=\"host\": an earlier Event about the pod came from this node, but this Event names " +
			"another host.",
	}, []string{"reason"})
	byStart := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_event_watch_starts_total",
		Help: "Event watches that the API server accepted, by the starting point of the watch. from=\"revision\": " +
			"the watch delivers every Event since the first of its pods reached the node, or since the previous " +
			"watch ended. from=\"history\": the watch delivers all existing Events, because the namespace has few " +
			"Events or the API server refuses lists of Events. from=\"gap\": the watch delivers only recent and new " +
			"Events, because the namespace has many Events. The agent can miss earlier Events. The agent uses " +
			"\"history\" or \"gap\" only if it knows no resourceVersion for \"revision\".",
	}, []string{"from"})
	bySample := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podlapse_event_revision_samples_total",
		Help: "Requests of the agent to the API server for the current resourceVersion of Events, by result: " +
			"\"taken\" (the response contained a resourceVersion) or \"failed\". Event watches can begin at this " +
			"resourceVersion. The agent also uses the resourceVersion to estimate how many objects changed while " +
			"a watch was open. Each request is a list request with a filter that matches no Event, so the " +
			"response is small.",
	}, []string{"result"})
	m := metrics{
		starts: startCounts{byStart.WithLabelValues("revision"), byStart.WithLabelValues("history"),
			byStart.WithLabelValues("gap")},
		samples: sampleCounts{bySample.WithLabelValues("taken"), bySample.WithLabelValues("failed")},
		expired: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_event_revisions_expired_total",
			Help: "Event watches that failed because the resourceVersion at which they began had expired (status " +
				"410): the API server no longer had the changes since this resourceVersion.",
		}),
		unserved: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_event_requests_unserved_total",
			Help: "Number of times that the agent waited more than 5 seconds for the Events of a pod without " +
				"success: it received no Event of the pod, and no proof that the pod has no Events. The pod's " +
				"timeline can then lack evidence about image pulls. One pod can count several times. Excludes waits " +
				"that ended while the agent had stopped its Event watches in the namespace (see " +
				"podlapse_event_costly_namespaces_total).",
		}),
		unshared: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_event_watches_unshared_total",
			Help: "Event watches on a whole namespace that the agent replaced with Event watches on single pods. The " +
				"agent replaces a watch if it delivers many Events and the agent needs few of them.",
		}),
		costly: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_event_costly_namespaces_total",
			Help: "Number of times that the agent stopped all its Event watches on a namespace for 10 to 15 " +
				"minutes. The agent stops the watches if many Events are created or deleted in the namespace, but " +
				"the agent uses few of them. The reason is the API server's CPU time: the API server " +
				"decodes each change once for each watch. Without Events, timelines lack phases such as the pull " +
				"queue.",
		}),
		opened: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_event_watches_opened_total",
			Help: "Event watches that the agent opened and that the API server accepted.",
		}),
		received: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_events_received_total",
			Help: "Kubelet Events that the API server sent to the agent. Includes Events that a second watch " +
				"delivered again, and Events that the agent does not need. Excludes notifications about the " +
				"deletion of Events.",
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
			Help: "Total time that the agent's Event watches were open, summed over all watches. A watch that " +
				"several pods share counts once.",
		}, func() float64 { return s.openFor().Seconds() }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "podlapse_event_watch_waiting_pods",
			Help: "Pods that wait for an Event watch. A pod waits if too many Event watches are open (in total or " +
				"on the pod's namespace), or if the agent has stopped all its Event watches on this namespace (see " +
				"podlapse_event_costly_namespaces_total).",
		}, func() float64 { return float64(s.countWaiting()) }),
	)
}
