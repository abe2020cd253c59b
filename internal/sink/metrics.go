package sink

import "github.com/prometheus/client_golang/prometheus"

// register creates the metrics of one sink with the value 0. Each sink registers its own metrics, with a constant label
// that identifies the sink. Sinks that are not in use have no metrics.
func register(config Config, length func() int) (sent, dropped prometheus.Counter) {
	label := prometheus.Labels{"sink": config.Name}
	sent = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "podlapse_sink_sent_total",
		Help: "Items that each sink delivered. sink=\"records\": start-ups that the agent wrote to standard output, " +
			"including partial records. sink=\"recording\": observations that the agent wrote to the recording, " +
			"or to memory if --record-observations is not set. sink=\"otlp\": start-ups whose traces the OTLP " +
			"endpoint accepted.",
		ConstLabels: label,
	})
	dropped = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "podlapse_sink_dropped_total",
		Help: "Items that a sink did not deliver because its queue was full, or because it had failed or " +
			"stopped.",
		ConstLabels: label,
	})
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "podlapse_sink_queue_length",
		Help:        "Items in the queue of a sink.",
		ConstLabels: label,
	}, func() float64 { return float64(length()) })
	config.Registerer.MustRegister(sent, dropped, waiting)
	return sent, dropped
}
