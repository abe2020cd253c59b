package otlp

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// item is the data of one call of an Offer method. The data belongs to the trace of one pod, or to the trace of the
// node's start-up.
type item struct {
	timeline.Timeline // the pod's start-up; the field Termination is set if the kind is "termination"
	kind              kind
	event             timeline.PostStartup   // later event of the pod; set only for the kind postStartup
	node              *api.NodeStartUpRecord // set only for the kind nodeStartUp; the field Timeline is then empty
}

type kind uint8

const (
	startUp kind = iota
	termination
	postStartup
	nodeStartUp
)

// addsToTrace returns true if the item does not contain the root span of its trace. The root span then belongs to the
// item of the pod's start-up.
func (i item) addsToTrace() bool { return i.kind == termination || i.kind == postStartup }

// ids returns the ID of the item's trace and the ID of the start-up. The SDK uses the trace ID only if the root span
// has no parent.
func (i item) ids() (trace.TraceID, string) {
	if i.kind == nodeStartUp {
		id := nodeStartUpID(*i.node)
		return traceID("podlapse node " + id), id
	}
	return startUpTraceID(i.Timeline), i.ID()
}

// spans returns the spans of an item. Parents come first.
func (i item) spans() []span {
	switch i.kind {
	case termination:
		return terminationOf(i.Timeline)
	case postStartup:
		return postStartupOf(i.Timeline, i.event)
	case nodeStartUp:
		return nodeStartUpOf(*i.node)
	default:
		return spansOf(i.Timeline)
	}
}
