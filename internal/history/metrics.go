package history

import "github.com/prometheus/client_golang/prometheus"

func (h *History) register() {
	h.config.Registerer.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "podlapse_history_pods", Help: "Deleted pods in the agent's memory. The agent's API still " +
				"serves the start-ups of these pods.",
		}, func() float64 { return float64(h.Stats().Pods) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "podlapse_history_bytes",
			Help: "Memory in bytes that the agent uses for the pods in podlapse_history_pods. The limit is " +
				"--history-limit minus the memory for the hourly sums of \"kubectl podlapse report\".",
		}, func() float64 { return float64(h.Stats().Bytes) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "podlapse_history_dropped_total", Help: "Deleted pods that the agent removed from its memory " +
				"because the memory exceeded a limit: the size in --history-limit, or 1000 pods.",
		}, func() float64 { return float64(h.Stats().Dropped) }),
	)
}
