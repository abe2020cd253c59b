package otlp

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxSpans is the maximum number of spans in the trace of one start-up. A start-up with ten containers has about a
// hundred spans. Only a crash loop causes more than maxSpans spans. A longer trace keeps only its first maxSpans spans,
// for example the first attempts of a crash loop. maxTrace is the maximum size of a trace in bytes. A limit is
// necessary because every trace must fit into a request that collectors accept.
const (
	maxSpans = 1000
	maxTrace = 1 << 20
)

// rootKey is the key of the root span.
const rootKey = ""

// span describes one span of a trace. The type "tracer" later creates the SDK's span with its IDs.
type span struct {
	key        string // unique within the start-up, and the same if the agent reports the start-up again
	parent     string // key of the parent span, which precedes this span in the list
	name       string // this text and all texts below are results of validText
	start, end time.Time
	attributes []attribute.KeyValue
	events     []event
	failure    string // reason for the failure; empty without a failure
}

// event is a point in time within a span, such as a kubelet Event.
type event struct {
	name       string
	at         time.Time
	attributes []attribute.KeyValue
}

// spansOf returns the trace of a start-up. Parents come first.
func spansOf(t timeline.Timeline) []span {
	spans := []span{rootOf(t)}
	spans = append(spans, phasesOf(t)...)
	spans = append(spans, containersOf(t)...)
	spans = append(spans, pullsOf(t)...)
	return limitSpans(spans)
}

// limitSpans makes the keys unique and omits spans above the limits.
func limitSpans(spans []span) []span {
	times := map[string]int{}
	for i := range spans { // keys repeat if a phase repeats or an image contains a layer twice
		key := spans[i].key
		if times[key]++; times[key] > 1 {
			spans[i].key += "#" + strconv.Itoa(times[key])
		}
	}
	kept, bytes := 0, 0
	for kept < min(len(spans), maxSpans) && (kept == 0 || bytes+spans[kept].sizeBytes() <= maxTrace) {
		bytes += spans[kept].sizeBytes()
		kept++
	}
	if left := len(spans) - kept; left > 0 {
		spans = spans[:kept]
		spans[0].attributes = append(spans[0].attributes, attribute.Int(keySpansLeftOut, left))
	}
	return spans
}
