package main

import (
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// newTerminated is told of pods whose ends were followed; nil when none are to be. The API has them all the same.
func newTerminated(c config, lines *export.JSONLines) func(timeline.Timeline) {
	switch {
	case !c.termination:
		return nil
	case lines == nil:
		return func(timeline.Timeline) {}
	}
	return lines.OfferEnd
}
