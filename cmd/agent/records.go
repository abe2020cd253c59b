package main

import (
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/export"
)

// newRecords makes what writes records, or nil when none are wanted.
func newRecords(c config, out io.Writer, handed *reports, registry prometheus.Registerer, logger *zap.Logger) *export.JSONLines {
	kinds := map[string][]export.Lines{
		recordsTimeline:   {export.TimelineLines},
		recordsTransition: {export.TransitionLines},
		recordsBoth:       {export.TimelineLines, export.TransitionLines},
	}[c.records]
	if len(kinds) == 0 {
		return nil
	}
	return export.NewJSONLines(export.JSONLinesConfig{
		Out: out, Kinds: kinds, Now: time.Now, Registerer: registry, Logger: logger.Named("records"), Done: handed.sink(),
	})
}
