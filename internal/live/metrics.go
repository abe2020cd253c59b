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
		Name: "podlapse_stream_viewers", Help: "Viewers connected to the stream of the agent's API.",
	}, viewers))
	return metrics{
		events: counter("podlapse_stream_events_total", "Changes that the agent encoded for the stream of its "+
			"API. A change that several viewers receive counts once."),
		resets: counter("podlapse_stream_resets_total", "Resets that the agent sent on the stream of its API. "+
			"After a reset, a viewer must list all pods again. The agent sends a reset to new viewers, and to "+
			"viewers that missed too many changes."),
		slow: counter("podlapse_stream_disconnected_total", "Viewers that the agent disconnected because they "+
			"did not read the stream of the agent's API."),
		refused: counter("podlapse_stream_refused_total", "Requests for the stream of the agent's API that "+
			"the agent refused, because too many viewers were connected, in total or from one address."),
	}
}
