package main

import (
	"io"
	"time"

	"github.com/podlapse/podlapse/pkg/export"
)

// newRecords makes what writes records, or nil with --records=none.
func newRecords(d deps, out io.Writer, handed *reports) *export.JSONLines {
	kinds := map[string][]export.Lines{
		recordsTimeline:   {export.TimelineLines},
		recordsTransition: {export.TransitionLines},
		recordsBoth:       {export.TimelineLines, export.TransitionLines},
	}[d.config.records]
	if len(kinds) == 0 {
		return nil
	}
	return export.NewJSONLines(export.JSONLinesConfig{
		Out: out, Kinds: kinds, Now: time.Now, Registerer: d.registry, Logger: d.logger.Named("records"),
		Done: handed.sink(),
	})
}
