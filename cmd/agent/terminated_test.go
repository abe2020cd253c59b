package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Who reads records by a schema that has no ends gets none.
func TestEndsAreNoTransitionRecords(t *testing.T) {
	end := timeline.Timeline{UID: "uid-1", Name: "web",
		Termination: &timeline.Termination{RequestedAt: time.Now(), GoneAt: time.Now()}}
	for records, want := range map[string]int{recordsTransition: 0, recordsTimeline: 1, recordsBoth: 1} {
		var out bytes.Buffer
		lines := export.NewJSONLines(export.JSONLinesConfig{
			Out: &out, Kinds: []export.Lines{export.TimelineLines}, Now: time.Now,
			Registerer: prometheus.NewRegistry(), Logger: zap.NewNop(),
		})
		newTerminated(config{termination: true, records: records}, lines, nil)(end)
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // what waits is written all the same
		if err := lines.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if got := bytes.Count(out.Bytes(), []byte("\n")); got != want {
			t.Errorf("--records=%s: %d lines of an end, want %d", records, got, want)
		}
	}
	if newTerminated(config{records: recordsBoth}, nil, nil) != nil {
		t.Error("ends are followed without --termination")
	}
}
