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
		Name: "podlapse_stream_viewers", Help: "Viewers (clients) that are connected to the stream of the agent's " +
			"API.",
	}, viewers))
	return metrics{
		events: counter("podlapse_stream_events_total", "Changes that the agent encoded for the stream of its API. "+
			"A change that several viewers (clients) receive counts once."),
		resets: counter("podlapse_stream_resets_total", "Resets that the agent sent to viewers (clients) of its "+
			"API's stream. After a reset, a viewer must list all pods. The agent sends a reset to each new viewer, "+
			"and to each viewer that missed too many changes."),
		slow: counter("podlapse_stream_disconnected_total", "Viewers (clients) that the agent disconnected from the "+
			"stream of its API because they did not read the stream."),
		refused: counter("podlapse_stream_refused_total", "Refused requests for the stream of the agent's API. The "+
			"agent refuses a request if too many viewers (clients) are connected, in total or from one address."),
	}
}
