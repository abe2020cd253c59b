package health

import "github.com/prometheus/client_golang/prometheus"

// RegisterSource works like Register, for a part that is a source of observations. RegisterSource also registers the
// metrics of the source's status. If the metrics are already registered, RegisterSource panics.
func (b *Board) RegisterSource(registerer prometheus.Registerer, name, detail string) Report {
	i, report := b.addPart(name, detail)
	labels := prometheus.Labels{"source": name}
	registerer.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "podlapse_source_up",
			Help: "Whether a source of observations works: 1 if the source works, 0 if not. Timelines are less " +
				"precise while a source does not work.",
			ConstLabels: labels,
		}, func() float64 {
			if b.statusOf(i).Up {
				return 1
			}
			return 0
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "podlapse_source_reconnects_total",
			Help: "Number of times that a source of observations recovered from a failure. Excludes the first " +
				"connection of the source. Also excludes watches that the agent reopened after a normal end.",
			ConstLabels: labels,
		}, func() float64 { return float64(b.statusOf(i).Recoveries) }),
	)
	return report
}
