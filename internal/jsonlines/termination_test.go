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
		t.Errorf("of a pod that nobody deletes: %v", lines)
	}
	var full api.TerminationLine
	startuptest.Fill(&full)
	text, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	schema.Check(t, text)
	if schema.Validate([]byte(strings.Replace(string(text), `"phases":[`, `"phases":[7,`, 1))) == nil {
		t.Error("a phase that is none is no problem")
	}
}

// The end of a pod is a line of its own, and reports no start-up.
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
	cancel() // what waits is written all the same
	if err := sink.Run(ctx); err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	if len(lines) != 2 || done != 1 {
		t.Fatalf("%d lines, %d start-ups done: %s", len(lines), done, out.Bytes())
	}
	startuptest.TimelineSchema(t).Check(t, lines[0])
	startuptest.TerminationSchema(t).Check(t, lines[1])
}

// The end of a pod that finds no room is no start-up that somebody is through with: its pod is gone.
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
		t.Errorf("%d ends are done as if they were start-ups", done)
	}
	if sink.Offer(startuptest.All()[0]); done != 1 {
		t.Errorf("%d start-ups are done that found no room, want 1", done)
	}
}

// A grace period of 0 that was asked for is told, one that nobody saw is not.
func TestTerminationGracePeriodZeroAndUnknown(t *testing.T) {
	hurried, unseen := startuptest.Killed(), startuptest.Killed()
	hurried.Termination.Grace, hurried.Termination.Hurried, unseen.Termination.Grace = 0, true, 0
	line := startuptest.Lines(t, TerminationLines, hurried, startuptest.After(time.Minute))[0]
	if !bytes.Contains(line, []byte(`"grace_seconds":0`)) {
		t.Errorf("no grace period in %s", line)
	}
	if line := startuptest.Lines(t, TerminationLines, unseen, startuptest.After(time.Minute))[0]; bytes.Contains(line,
		[]byte(`"grace_seconds"`)) {
		t.Errorf("a grace period in %s", line)
	}
}
