package otlp

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// gathered is a gatherer for the bridge. On an error, the bridge would send nothing and report only
// to a global handler. So gathered passes on what could be gathered, and keeps the error. It is not
// safe for concurrent use.
type gathered struct {
	from        prometheus.Gatherer
	exponential bool  // for histograms that have both: send the native histogram instead of the classic buckets
	err         error // of the latest Gather
}

// Gather implements prometheus.Gatherer; the error is always nil.
func (g *gathered) Gather() ([]*dto.MetricFamily, error) {
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
