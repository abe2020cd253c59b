package otlp

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxSpans bounds the trace of one start-up. One of ten containers has a hundred spans; more than
// this are the attempts of a crash loop, of which the first are kept. maxTrace bounds them in
// bytes: not even an odd start-up makes a request that no collector takes.
const (
	maxSpans = 1000
	maxTrace = 1 << 20
)

// rootKey is the key of the span that holds the others.
const rootKey = ""

// span is one span as the timeline tells it, before it has IDs.
type span struct {
	key        string // names the span among those of its start-up, whenever that is reported
	parent     string // key of the parent, which stands before
	name       string // of valid texts, as all that follow
	start, end time.Time
	attributes []attribute.KeyValue
	events     []event
	failure    string // why it failed; empty if it did not
}

// event is something that happened at one moment of a span.
type event struct {
	name       string
	at         time.Time
	attributes []attribute.KeyValue
}

// spansOf is the trace of a start-up, parents first.
func spansOf(t timeline.Timeline) []span {
	spans := []span{rootOf(t)}
	spans = append(spans, phasesOf(t)...)
	spans = append(spans, containersOf(t)...)
	spans = append(spans, pullsOf(t)...)
	return bounded(spans)
}

// bounded makes the keys unlike each other, and leaves out what is too much.
func bounded(spans []span) []span {
	times := map[string]int{}
	for i := range spans { // a phase comes back, an image has a layer twice
		key := spans[i].key
		if times[key]++; times[key] > 1 {
			spans[i].key += "#" + strconv.Itoa(times[key])
		}
	}
	kept, bytes := 0, 0
	for kept < min(len(spans), maxSpans) && (kept == 0 || bytes+spans[kept].bytes() <= maxTrace) {
		bytes += spans[kept].bytes()
		kept++
	}
	if left := len(spans) - kept; left > 0 {
		spans = spans[:kept]
		spans[0].attributes = append(spans[0].attributes, attribute.Int(keySpansLeftOut, left))
	}
	return spans
}
