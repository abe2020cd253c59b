package otlp

import (
	"encoding/hex"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// decodeTraces decodes the trace IDs of exemplars. OpenTelemetry's Prometheus bridge takes the trace ID from a label
// and keeps the hexadecimal text. OTLP requires the decoded bytes. Collectors refuse the whole request if a trace ID
// has the wrong length.
func decodeTraces(all metricdata.ResourceMetrics) {
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			histogram, _ := m.Data.(metricdata.Histogram[float64])
			for _, point := range histogram.DataPoints {
				for i, exemplar := range point.Exemplars {
					id, err := hex.DecodeString(string(exemplar.TraceID))
					if err != nil {
						id = nil
					}
					point.Exemplars[i].TraceID = id
				}
			}
		}
	}
}
