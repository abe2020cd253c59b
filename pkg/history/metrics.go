package history

import "github.com/prometheus/client_golang/prometheus"

func (h *History) register() {
	h.config.Registerer.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "podlapse_history_pods", Help: "Pods that are gone and that the API can still tell of.",
		}, func() float64 { return float64(h.Stats().Pods) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "podlapse_history_bytes", Help: "Memory that the pods in podlapse_history_pods take, of at most --history-limit.",
		}, func() float64 { return float64(h.Stats().Bytes) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "podlapse_history_dropped_total", Help: "Pods that are gone and had to leave the history for others.",
		}, func() float64 { return float64(h.Stats().Dropped) }),
	)
}
