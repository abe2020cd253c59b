package otlp

import "github.com/podlapse/podlapse/pkg/timeline"

// item is the data that one call of an Offer method adds to the trace of a pod.
type item struct {
	timeline.Timeline // the pod's start-up; the field Termination is set if the kind is "termination"
	kind              kind
	event             timeline.PostStartup // later event of the pod; only set for the kind postStartup
}

type kind uint8

const (
	startUp kind = iota
	termination
	postStartup
)

// spans returns the spans of an item. Parents come first.
func (i item) spans() []span {
	switch i.kind {
	case termination:
		return terminationOf(i.Timeline)
	case postStartup:
		return postStartupOf(i.Timeline, i.event)
	default:
		return spansOf(i.Timeline)
	}
}
