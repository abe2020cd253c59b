package sink

import "github.com/prometheus/client_golang/prometheus"

// register creates the metrics of one sink, at zero. A constant label identifies the sink, so that
// only the sinks of this agent have metrics.
func register(config Config, length func() int) (sent, dropped prometheus.Counter) {
	label := prometheus.Labels{"sink": config.Name}
	sent = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "podlapse_sink_sent_total",
		Help: "Items that a sink delivered. records: start-ups written to standard output, including partial ones; " +
			"recording: observations written to the file, or kept in memory if there is no file; otlp: start-ups " +
			"whose traces the endpoint accepted.",
		ConstLabels: label,
	})
	dropped = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "podlapse_sink_dropped_total",
		Help: "Items that a sink did not deliver, because too many arrived at once, or because it had failed, was " +
			"full or had ended.",
		ConstLabels: label,
	})
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "podlapse_sink_queue_length",
		Help:        "Items waiting for a sink.",
		ConstLabels: label,
	}, func() float64 { return float64(length()) })
	config.Registerer.MustRegister(sent, dropped, waiting)
	return sent, dropped
}
