package main

import (
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/export/otlp"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// newLater returns what sends to traces what happens after a start-up; nil without --life-traces or traces.
func newLater(c config, traces *otlp.Traces) func(timeline.Timeline) {
	if !c.lifeTraces || traces == nil {
		return nil
	}
	return traces.Offer
}

// newTerminated returns what sends terminations to records and traces; nil without --termination. The API serves them
// in any case.
func newTerminated(c config, lines *export.JSONLines, traces *otlp.Traces) func(timeline.Timeline) {
	if !c.termination {
		return nil
	}
	return func(t timeline.Timeline) {
		if lines != nil && c.records != recordsTransition { // its schema has no terminations
			lines.Offer(t)
		}
		if traces != nil {
			traces.Offer(t)
		}
	}
}
