package main

import (
	"io"
	"slices"
	"time"

	"github.com/podlapse/podlapse/internal/jsonlines"
)

// recordFormat is a format of the records on standard output.
type recordFormat struct {
	name         string // the value of --records that selects only this format
	content      string // description of the format in the help of --records
	lines        jsonlines.Lines
	traits       bool // the lines contain values from timeline.Timeline.Traits
	terminations bool // the format has records for a pod's termination and for the node's start-up
}

func recordFormats() []recordFormat {
	return append([]recordFormat{
		{name: recordsTimeline, content: "the timeline of the start-up", lines: jsonlines.TimelineLines,
			terminations: true},
	}, compatibilityRecords()...)
}

// recordChoices returns the values of --records. The last value turns off all records.
func recordChoices() []string {
	var all []string
	for _, format := range recordFormats() {
		all = append(all, format.name)
	}
	if len(all) > 1 {
		all = append(all, recordsBoth)
	}
	return append(all, recordsNone)
}

// recordFormats returns the formats that --records selects.
func (c config) recordFormats() []recordFormat {
	return slices.DeleteFunc(recordFormats(), func(format recordFormat) bool {
		return c.records != format.name && c.records != recordsBoth
	})
}

func (c config) recordsNeedTraits() bool {
	return slices.ContainsFunc(c.recordFormats(), func(format recordFormat) bool { return format.traits })
}

func (c config) recordsHaveTerminations() bool {
	return slices.ContainsFunc(c.recordFormats(), func(format recordFormat) bool { return format.terminations })
}

// newRecords returns the writer of records. With --records=none, newRecords returns nil.
func newRecords(d deps, out io.Writer, handed *deliveries) *jsonlines.Writer {
	var kinds []jsonlines.Lines
	for _, format := range d.config.recordFormats() {
		kinds = append(kinds, format.lines)
	}
	if len(kinds) == 0 {
		return nil
	}
	return jsonlines.New(jsonlines.Config{
		Out: out, Kinds: kinds, Now: time.Now, Registerer: d.registry, Logger: d.logger.Named("records"),
		Done: handed.addSink(),
	})
}
