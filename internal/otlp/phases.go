package otlp

import (
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// phasesOf returns the phases as child spans of the start-up. Together, the phases cover the whole start-up.
func phasesOf(t timeline.Timeline) []span { return layOut(t, t.Phases, rootKey) }

// layOut returns phases as child spans. The argument "under" is the key of the phases' parent span. The key of each
// child span begins with the key of the parent span.
func layOut(t timeline.Timeline, phases []timeline.Span, under string) []span {
	spans := make([]span, 0, len(phases))
	for _, p := range phases {
		attributes := append(podOf(t),
			attribute.String(keyKind, kindPhase),
			text(keyCause, string(p.Cause)),
			attribute.Int(keyAttempt, p.Attempt),
			seconds(keyError, p.Error),
			containerOf(p.Container),
		)
		attributes = appendList(attributes, keySources, p.Sources)
		attributes = appendList(attributes, keyMergedWith, p.MergedWith)
		if p.Open {
			attributes = append(attributes, attribute.Bool(keyOpen, true))
		}
		if p.ImageLoading {
			attributes = append(attributes, attribute.Bool(keyImageLoading, true))
		}
		if p.Pressure != nil {
			attributes = append(attributes, attribute.Float64(keyCPUPressure, p.Pressure.CPU),
				attribute.Float64(keyIOPressure, p.Pressure.IO),
				attribute.Float64(keyMemoryPressure, p.Pressure.Memory))
		}
		spans = append(spans, span{
			key: under + strings.Join([]string{kindPhase, string(p.Phase), p.Container,
				strconv.Itoa(p.Attempt)}, "/"),
			parent: under,
			name:   validText(string(p.Phase)), start: p.StartAt, end: p.EndAt, attributes: withoutEmpty(attributes...),
		})
	}
	return spans
}
