package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/jsonlines"
	"github.com/podlapse/podlapse/internal/reconcile"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// The schema of kube-transition-metrics has no terminations.
func TestTransitionRecordsOmitTerminations(t *testing.T) {
	end := timeline.Timeline{UID: "uid-1", Name: "web",
		Termination: &timeline.Termination{RequestedAt: time.Now(), GoneAt: time.Now()}}
	for records, want := range map[string]int{"transition": 0, recordsTimeline: 1, recordsBoth: 1} {
		var out bytes.Buffer
		lines := jsonlines.New(jsonlines.Config{
			Out: &out, Kinds: []jsonlines.Lines{jsonlines.TimelineLines}, Now: time.Now,
			Registerer: prometheus.NewRegistry(), Logger: zap.NewNop(),
		})
		outputs{lines: lines, terminations: config{records: records}.recordsHaveTerminations()}.send(
			reconcile.Report{Kind: reconcile.Terminated, Timeline: end})
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the writer still writes queued lines
		if err := lines.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if got := bytes.Count(out.Bytes(), []byte("\n")); got != want {
			t.Errorf("--records=%s: %d lines of a termination, want %d", records, got, want)
		}
	}
}
