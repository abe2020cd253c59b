package otlp

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// gatheredMetrics is a gatherer for OpenTelemetry's Prometheus bridge. If a gatherer returns an error, the bridge sends
// nothing and reports the error only to a global handler. Therefore, Gather always returns a nil error, and stores the
// actual error in the field err. gatheredMetrics is not safe for concurrent use.
type gatheredMetrics struct {
	from        prometheus.Gatherer
	exponential bool  // true to send native histograms instead of classic buckets
	err         error // error of the latest Gather
}

// Gather implements prometheus.Gatherer; the error is always nil.
func (g *gatheredMetrics) Gather() ([]*dto.MetricFamily, error) {
	families, err := g.from.Gather()
	g.err = err
	if !g.exponential {
		for _, family := range families {
			for _, m := range family.GetMetric() {
				if h := m.GetHistogram(); len(h.GetBucket()) > 0 {
					m.Histogram = &dto.Histogram{
						SampleCount: h.SampleCount, SampleSum: h.SampleSum, Bucket: h.GetBucket(),
						CreatedTimestamp: h.GetCreatedTimestamp(),
					}
				}
			}
		}
	}
	return families, nil
}
