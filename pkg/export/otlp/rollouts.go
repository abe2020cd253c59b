package otlp

import (
	"go.opentelemetry.io/otel/trace"
)

// maxRollouts is how many rollouts are remembered as told; a node runs pods of a few hundred at most.
const maxRollouts = 1024

// rollouts remembers of which rollouts the span was told, so that it is told once. The oldest leave first. Not safe for concurrent
// use.
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
