package sink

import "github.com/prometheus/client_golang/prometheus"

// The function register creates the metrics of one sink at zero. A constant label identifies the sink, so only the
// active sinks of this agent have metrics.
func register(config Config, length func() int) (sent, dropped prometheus.Counter) {
	label := prometheus.Labels{"sink": config.Name}
	sent = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "podlapse_sink_sent_total",
		Help: "Items that each sink delivered. Sink records writes start-ups to standard output, including " +
			"partial ones. Sink recording writes observations to the file, or to memory if there is no file. Sink " +
			"otlp sends traces of start-ups, which count when the endpoint accepts them.",
		ConstLabels: label,
	})
	dropped = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "podlapse_sink_dropped_total",
		Help: "Items that a sink did not deliver because its queue was full, or because the sink had failed or " +
			"stopped.",
		ConstLabels: label,
	})
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "podlapse_sink_queue_length",
		Help:        "Items that wait in the queue of a sink.",
		ConstLabels: label,
	}, func() float64 { return float64(length()) })
	config.Registerer.MustRegister(sent, dropped, waiting)
	return sent, dropped
}
