package otlp

import (
	"slices"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// maxRollouts is how many sent rollouts are remembered; a node runs pods of at most a few hundred.
const maxRollouts = 1024

// rollouts remembers the rollouts whose span was sent, so that each is sent once. The oldest are forgotten first. It is
// not safe for concurrent use.
type rollouts struct {
	sent  map[trace.TraceID]bool
	order []trace.TraceID
}

// first reports whether a rollout has not been sent before.
func (r *rollouts) first(id trace.TraceID) bool {
	if r.sent[id] {
		return false
	}
	if r.sent == nil {
		r.sent = map[trace.TraceID]bool{}
	}
	if len(r.order) == maxRollouts {
		delete(r.sent, r.order[0])
		r.order = r.order[1:]
	}
	r.sent[id] = true
	r.order = append(r.order, id)
	return true
}

// lost forgets the rollouts whose span is among those that the collector did not accept: the next
// start-up sends it again.
func (r *rollouts) lost(spans []sdktrace.ReadOnlySpan) {
	if r == nil {
		return
	}
	for _, s := range spans {
		id := s.SpanContext().TraceID()
		if s.SpanContext().SpanID() == spanID(id, "", rootKey) && r.sent[id] {
			delete(r.sent, id)
			r.order = slices.DeleteFunc(r.order, func(o trace.TraceID) bool { return o == id })
		}
	}
}
