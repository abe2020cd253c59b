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
		Name: "podlapse_stream_viewers", Help: "Viewers that are connected to the API's stream.",
	}, viewers))
	return metrics{
		events:  counter("podlapse_stream_events_total", "Changes that were encoded for the API's stream, once for all viewers."),
		resets:  counter("podlapse_stream_resets_total", "Times that a viewer was told to list anew: it is new, or too much has changed since it read."),
		slow:    counter("podlapse_stream_disconnected_total", "Viewers that were disconnected because they did not read."),
		refused: counter("podlapse_stream_refused_total", "Viewers that were refused because there were too many, of all or of one client."),
	}
}
