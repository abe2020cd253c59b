package live

import "github.com/prometheus/client_golang/prometheus"

type metrics struct{ events, resets, slow, refused prometheus.Counter }

func newMetrics(registerer prometheus.Registerer, viewers func() float64) metrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		registerer.MustRegister(c)
		return c
	}
	registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "podlapse_stream_viewers", Help: "Viewers connected to the API's stream.",
	}, viewers))
	return metrics{
		events: counter("podlapse_stream_events_total", "Changes encoded for the API's stream. A change for several "+
			"viewers counts once."),
		resets: counter("podlapse_stream_resets_total", "Times that a viewer had to list again, because it was new "+
			"or because too much had changed since it last read."),
		slow: counter("podlapse_stream_disconnected_total", "Viewers disconnected because they did not read."),
		refused: counter("podlapse_stream_refused_total", "Viewers refused because there were too many, in total or "+
			"from one address."),
	}
}
