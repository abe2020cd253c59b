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
		events: counter("podlapse_stream_events_total", "Changes that the agent encoded for the API's stream. A "+
			"change for several viewers counts once."),
		resets: counter("podlapse_stream_resets_total", "Times that a viewer had to list again because the viewer "+
			"was new or missed too many changes."),
		slow: counter("podlapse_stream_disconnected_total", "Viewers that the agent disconnected because they did "+
			"not read."),
		refused: counter("podlapse_stream_refused_total", "Viewers that the agent refused because too many were "+
			"connected, in total or from one address."),
	}
}
