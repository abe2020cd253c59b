package sink

import "github.com/prometheus/client_golang/prometheus"

// register makes the metrics of one sink, at zero. Each sink has its own, told apart by a constant label, so that there
// are those of the sinks that this agent has and no others.
func register(config Config, length func() int) (sent, dropped prometheus.Counter) {
	label := prometheus.Labels{"sink": config.Name}
	sent = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "podlapse_sink_sent_total",
		Help: "What a sink delivered: of records, start-ups whose lines standard output took, partial ones included; of " +
			"recording, observations that were written to the file, or kept in memory where there is no file; of otlp, start-ups " +
			"whose traces the endpoint took.",
		ConstLabels: label,
	})
	dropped = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "podlapse_sink_dropped_total",
		Help: "What a sink was to deliver and did not, because more came at once than it could take, or because it had " +
			"failed, was full or was ended.",
		ConstLabels: label,
	})
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "podlapse_sink_queue_length",
		Help:        "What waits for a sink to take it.",
		ConstLabels: label,
	}, func() float64 { return float64(length()) })
	config.Registerer.MustRegister(sent, dropped, waiting)
	return sent, dropped
}
