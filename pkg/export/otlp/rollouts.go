package otlp

import (
	"slices"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// maxRollouts is how many rollouts are remembered as told; a node runs pods of a few hundred at most.
const maxRollouts = 1024

// rollouts remembers of which rollouts the span was told, so that it is told once. The oldest leave
// first. Not safe for concurrent use.
type rollouts struct {
	told  map[trace.TraceID]bool
	order []trace.TraceID
}

// first says that a rollout is told of for the first time.
func (r *rollouts) first(id trace.TraceID) bool {
	if r.told[id] {
		return false
	}
	if r.told == nil {
		r.told = map[trace.TraceID]bool{}
	}
	if len(r.order) == maxRollouts {
		delete(r.told, r.order[0])
		r.order = r.order[1:]
	}
	r.told[id] = true
	r.order = append(r.order, id)
	return true
}

// lost forgets the rollouts whose span is among those that the collector did not take: the next
// start-up brings it again.
func (r *rollouts) lost(spans []sdktrace.ReadOnlySpan) {
	if r == nil {
		return
	}
	for _, s := range spans {
		id := s.SpanContext().TraceID()
		if s.SpanContext().SpanID() == spanID(id, "", rootKey) && r.told[id] {
			delete(r.told, id)
			r.order = slices.DeleteFunc(r.order, func(o trace.TraceID) bool { return o == id })
		}
	}
}
