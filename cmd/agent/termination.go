package main

import (
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/export/otlp"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// newLater is told of what happens to pods after their start-ups; nil when that is not to be sent.
func newLater(c config, traces *otlp.Traces) func(timeline.Timeline) {
	if !c.lifeTraces || traces == nil {
		return nil
	}
	return traces.Offer
}

// newTerminated is told of pods whose ends were followed; nil when none are to be. The API has them all the same.
func newTerminated(c config, lines *export.JSONLines, traces *otlp.Traces) func(timeline.Timeline) {
	if !c.termination {
		return nil
	}
	return func(t timeline.Timeline) {
		if lines != nil && c.records != recordsTransition { // whose schema has no such lines
			lines.Offer(t)
		}
		if traces != nil {
			traces.Offer(t)
		}
	}
}
