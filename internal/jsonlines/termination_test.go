package jsonlines

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestTerminationLinesMatchSchema(t *testing.T) {
	schema := startuptest.TerminationSchema(t)
	line := startuptest.Lines(t, TerminationLines, startuptest.Killed(), startuptest.After(time.Minute))[0]
	schema.Check(t, line)
	for _, want := range []string{`"how":"killed"`, `"exit_code":137`, `"signal":9`, `"total_seconds":31`,
		`"grace_seconds":30`,
		"ignored its stop signal for 30.0 s, then was killed"} {
		if !bytes.Contains(line, []byte(want)) {
			t.Errorf("no %s in %s", want, line)
		}
	}
	if lines := TerminationLines(startuptest.All()[0], startuptest.After(time.Minute)); len(lines) > 0 {
		t.Errorf("a pod that was not deleted has %v", lines)
	}
	var full api.TerminationLine
	startuptest.Fill(&full)
	text, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	schema.Check(t, text)
	if schema.Validate([]byte(strings.Replace(string(text), `"phases":[`, `"phases":[7,`, 1))) == nil {
		t.Error("an invalid phase matches the schema")
	}
}

// TestTerminationIsOneLine checks that the termination of a pod is a separate line, and that Done does not receive
// the pod's start-up.
func TestTerminationIsOneLine(t *testing.T) {
	var out bytes.Buffer
	var done int
	sink := New(Config{
		Out: &out, Kinds: []Lines{TimelineLines}, Now: func() time.Time { return startuptest.After(time.Minute) },
		Registerer: prometheus.NewRegistry(), Logger: zap.NewNop(), Done: func(timeline.Timeline) { done++ },
	})
	startUp := startuptest.Killed()
	startUp.Termination = nil
	sink.Offer(startUp)
	sink.OfferTermination(startuptest.Killed())
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // Run still writes the queued lines
	if err := sink.Run(ctx); err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	if len(lines) != 2 || done != 1 {
		t.Fatalf("got %d lines and %d reported start-ups: %s", len(lines), done, out.Bytes())
	}
	startuptest.TimelineSchema(t).Check(t, lines[0])
	startuptest.TerminationSchema(t).Check(t, lines[1])
}

// TestDroppedTerminationReportsNoStartUp checks that Done does not receive a start-up whose termination was dropped.
func TestDroppedTerminationReportsNoStartUp(t *testing.T) {
	var done int
	sink := New(Config{
		Kinds: []Lines{TimelineLines}, Now: time.Now, Registerer: prometheus.NewRegistry(),
		Logger: zap.NewNop(), Done: func(timeline.Timeline) { done++ },
	})
	for range 2000 {
		sink.OfferTermination(startuptest.Killed())
	}
	if done != 0 {
		t.Errorf("%d dropped terminations are reported as start-ups", done)
	}
	if sink.Offer(startuptest.All()[0]); done != 1 {
		t.Errorf("%d dropped start-ups are reported, want 1", done)
	}
}

// TestTerminationGracePeriodZeroAndUnknown checks that a requested grace period of 0 is written, and that an unknown
// grace period is omitted.
func TestTerminationGracePeriodZeroAndUnknown(t *testing.T) {
	zeroGrace, unseen := startuptest.Killed(), startuptest.Killed()
	zeroGrace.Termination.Grace, zeroGrace.Termination.ZeroGrace, unseen.Termination.Grace = 0, true, 0
	line := startuptest.Lines(t, TerminationLines, zeroGrace, startuptest.After(time.Minute))[0]
	if !bytes.Contains(line, []byte(`"grace_seconds":0`)) {
		t.Errorf("no grace period of 0 in %s", line)
	}
	if line := startuptest.Lines(t, TerminationLines, unseen, startuptest.After(time.Minute))[0]; bytes.Contains(line,
		[]byte(`"grace_seconds"`)) {
		t.Errorf("an unknown grace period in %s", line)
	}
}
