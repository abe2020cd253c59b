package sink

import "github.com/prometheus/client_golang/prometheus"

// register creates the metrics of one sink with the value 0. Each sink registers its own metrics, with a constant label
// that identifies the sink. Sinks that are not in use have no metrics.
func register(config Config, length func() int) (sent, dropped prometheus.Counter) {
	label := prometheus.Labels{"sink": config.Name}
	sent = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "podlapse_sink_sent_total",
		Help: "Items that the agent delivered to a sink (an output). sink=\"records\": records on standard output " +
			"about start-ups of pods, terminations of pods and the start-up of the node. A partial start-up counts " +
			"each time that the agent writes it. sink=\"recording\": observations in the file of " +
			"--record-observations, or without this flag, observations in memory. sink=\"otlp\": start-ups, " +
			"terminations and later events of pods, and the start-up of the node, if the OTLP endpoint accepted them.",
		ConstLabels: label,
	})
	dropped = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "podlapse_sink_dropped_total",
		Help: "Items that a sink (an output of the agent) did not deliver: the queue of the sink was full, the " +
			"delivery failed, or the sink had stopped.",
		ConstLabels: label,
	})
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "podlapse_sink_queue_length",
		Help:        "Items that wait in the queue of a sink (an output of the agent).",
		ConstLabels: label,
	}, func() float64 { return float64(length()) })
	config.Registerer.MustRegister(sent, dropped, waiting)
	return sent, dropped
}
