package otlp

import (
	"slices"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// maxRollouts is the maximum number of remembered rollouts. A node runs the pods of at most a few hundred rollouts.
const maxRollouts = 1024

// sentRollouts remembers the rollouts whose span the agent has sent, so that the agent sends each span once. When
// sentRollouts holds maxRollouts rollouts, it forgets the oldest one. sentRollouts is not safe for concurrent use.
type sentRollouts struct {
	sent  map[trace.TraceID]bool
	order []trace.TraceID
}

// isNew returns true if the agent has not sent the span of a rollout yet. isNew also remembers the rollout as sent.
func (r *sentRollouts) isNew(id trace.TraceID) bool {
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

// forget forgets the rollouts whose spans the collector did not accept. The agent sends these spans again when it sends
// the next start-up of the rollout.
func (r *sentRollouts) forget(spans []sdktrace.ReadOnlySpan) {
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
