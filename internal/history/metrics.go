package history

import "github.com/prometheus/client_golang/prometheus"

func (h *History) register() {
	h.config.Registerer.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "podlapse_history_pods", Help: "Deleted pods that the API still serves.",
		}, func() float64 { return float64(h.Stats().Pods) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "podlapse_history_bytes",
			Help: "Memory used by the pods in podlapse_history_pods, at most --history-limit.",
		}, func() float64 { return float64(h.Stats().Bytes) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "podlapse_history_dropped_total", Help: "Deleted pods that the agent removed from the history to " +
				"stay within its limits.",
		}, func() float64 { return float64(h.Stats().Dropped) }),
	)
}
