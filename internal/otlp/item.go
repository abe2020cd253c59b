package otlp

import "github.com/podlapse/podlapse/pkg/timeline"

// item is what one offer adds to the trace of a pod.
type item struct {
	timeline.Timeline // of the pod's start-up; with its Termination if that is the kind
	kind              kind
	event             timeline.PostStartup // of the kind postStartup
}

type kind uint8

const (
	startUp kind = iota
	termination
	postStartup
)

// spans returns the spans of an item, parents first.
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
