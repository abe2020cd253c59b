package jsonlines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func newLines(out io.Writer) *Writer { return newLinesWith(Config{Out: out}) }

func newLinesWith(config Config) *Writer {
	config.Kinds = append(config.Kinds, TimelineLines)
	config.Now, config.Registerer, config.Logger = time.Now, prometheus.NewRegistry(), zap.NewNop()
	return New(config)
}

// counted returns the sum of a metric's series.
func (j *Writer) counted(t *testing.T, name string) (sum float64) {
	t.Helper()
	families, err := j.config.Registerer.(*prometheus.Registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			for _, metric := range family.GetMetric() {
				sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return sum
}

func (j *Writer) dropped(t *testing.T) float64 { return j.counted(t, "podlapse_sink_dropped_total") }
func (j *Writer) sent(t *testing.T) float64    { return j.counted(t, "podlapse_sink_sent_total") }

// severalLines returns one line for the pod, and one line for each container and each pull.
func severalLines(t timeline.Timeline, _ time.Time) []any {
	lines := []any{map[string]any{"pod": t.Name, "partial": t.Partial}}
	for _, c := range t.Containers {
		lines = append(lines, map[string]any{"pod": t.Name, "container": c.Name})
	}
	for _, p := range t.Pulls {
		lines = append(lines, map[string]any{"pod": t.Name, "image": p.Image})
	}
	return lines
}

func named(name string) timeline.Timeline { return timeline.Timeline{Name: name} }

func TestJSONLinesWritesWholeLinesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		lines := newLines(&out)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- lines.Run(ctx) }()
		lines.Offer(named("a"))
		synctest.Wait()
		if !strings.HasSuffix(out.String(), "}\n") {
			t.Fatalf("not flushed at once: %q", out.String())
		}
		lines.Offer(startuptest.ColdStart())
		synctest.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(got) != 2 {
			t.Fatalf("got %d lines", len(got))
		}
		for i, want := range []string{"a", "web-0"} {
			var record api.Record
			if err := json.Unmarshal([]byte(got[i]), &record); err != nil || record.Name != want {
				t.Errorf("line %d: %q, %v; want %s", i, record.Name, err, want)
			}
		}
	})
}

func TestJSONLinesDrainsWhenStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // writing takes no simulated time
		var out bytes.Buffer
		lines := newLines(&out)
		for range queueLength {
			lines.Offer(named("late"))
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if err := lines.Run(stopped); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "\n"); got != queueLength {
			t.Errorf("got %d lines, want %d", got, queueLength)
		}
	})
}

func TestJSONLinesDropsTheNewestWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // writing takes no simulated time
		var out bytes.Buffer
		lines := newLines(&out)
		for range queueLength {
			lines.Offer(named("kept"))
		}
		lines.Offer(named("surplus"))
		lines.Offer(named("surplus"))
		if got := lines.dropped(t); got != 2 {
			t.Errorf("dropped %v, want 2", got)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if err := lines.Run(stopped); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "surplus") {
			t.Error("a surplus record was written")
		}
	})
}

// slowWriter takes so long for each line that drainTime ends before the queue is empty.
type slowWriter struct{ written int }

func (w *slowWriter) Write(line []byte) (int, error) {
	time.Sleep(drainTime * 2 / 3)
	w.written++
	return len(line), nil
}

func TestJSONLinesGivesUpOnSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowWriter{}
		lines := newLines(slow)
		for range 5 {
			lines.Offer(named("late"))
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		err := lines.Run(stopped)
		if err == nil || !strings.Contains(err.Error(), "items dropped") {
			t.Errorf("got error %v, want the number of dropped items", err)
		}
		if got := lines.dropped(t); slow.written+int(got) != 5 || got == 0 || int(lines.sent(t)) != slow.written {
			t.Errorf("wrote %d and dropped %v of 5 records", slow.written, got)
		}
	})
}

func TestJSONLinesStopsWhenReaderIsGone(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	reader.Close()
	lines := newLines(writer)
	lines.Offer(named("a"))
	lines.Offer(named("b"))
	err = lines.Run(t.Context())
	if !errors.Is(err, syscall.EPIPE) || !strings.Contains(err.Error(), "standard output") {
		t.Errorf("got %v, want a broken pipe on standard output", err)
	}
	if got := lines.dropped(t); got != 2 {
		t.Errorf("dropped %v, want 2", got)
	}
}

func TestJSONLinesReportsWrittenStartUps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // writing takes no simulated time
		var out bytes.Buffer
		var done []string
		note := func(tl timeline.Timeline) { done = append(done, tl.Name) }
		lines := newLinesWith(Config{Out: &out, Done: note})
		lines.Offer(named("written"))
		if len(done) > 0 {
			t.Errorf("%q are reported before anything was written", done)
		}
		for range queueLength - 1 {
			lines.Offer(named("written"))
		}
		lines.Offer(named("dropped"))
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if err := lines.Run(stopped); err != nil {
			t.Fatal(err)
		}
		if len(done) != queueLength+1 || done[0] != "dropped" || done[1] != "written" {
			t.Errorf("%d are reported, first %q", len(done), done[:2])
		}
	})
}

func TestJSONLinesReportsNoUnwrittenStartUps(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	reader.Close()
	lines := newLinesWith(Config{Out: writer,
		Done: func(tl timeline.Timeline) { t.Errorf("done with %s", tl.Name) }})
	lines.Offer(named("a"))
	lines.Offer(named("b"))
	if err := lines.Run(t.Context()); err == nil {
		t.Error("no error")
	}
}

// TestJSONLinesOfStartUpsInProgress checks that start-ups in progress never replace completed start-ups in the queue,
// and that Done does not receive start-ups in progress.
func TestJSONLinesOfStartUpsInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // writing takes no simulated time
		var out bytes.Buffer
		done := 0
		lines := newLinesWith(Config{Out: &out, Kinds: []Lines{severalLines},
			Done: func(timeline.Timeline) { done++ }})
		partial := startuptest.ColdStart()
		partial.Partial = true
		for range queueLength {
			lines.Offer(partial)
		}
		if got := lines.dropped(t); got != queueSpare {
			t.Errorf("dropped %v", got)
		}
		for range queueSpare {
			lines.Offer(startuptest.ColdStart())
		}
		got := lines.dropped(t)
		if got != queueSpare || lines.counted(t, "podlapse_sink_queue_length") != queueLength {
			t.Errorf("dropped %v", got)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if err := lines.Run(stopped); err != nil {
			t.Fatal(err)
		}
		if done != queueSpare || lines.sent(t) != queueLength {
			t.Errorf("%d reported, %v sent", done, lines.sent(t))
		}
		// Each start-up has records of both kinds. Records of both kinds have the field partial.
		if got := strings.Count(out.String(), `{"partial":true,"pod":"web-0"}`); got != queueLength/2 {
			t.Errorf("got %d partial records of the other kind", got)
		}
		if got := strings.Count(out.String(), `"state":"ready","partial":true`); got != queueLength/2 {
			t.Errorf("%d partial timelines", got)
		}
	})
}

// TestJSONLinesThroughSlowPipe checks that a reader that reads a few bytes at a time gets whole lines.
func TestJSONLinesThroughSlowPipe(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	// If a line is missing, the read blocks until the deadline, because no more data arrives.
	if err := reader.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	lines := newLinesWith(Config{Out: writer, Kinds: []Lines{severalLines}})
	const (
		startUps = 200 // more start-ups than fit into a pipe
		each     = 11  // number of records per start-up: a pod, four containers, five pulls, and the timeline
	)
	for range startUps {
		lines.Offer(startuptest.InTransition())
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- lines.Run(ctx) }()
	var got []byte
	for piece := make([]byte, 777); bytes.Count(got, []byte("\n")) < each*startUps; {
		n, err := reader.Read(piece)
		if err != nil {
			t.Fatalf("%d lines of %d: %v", bytes.Count(got, []byte("\n")), each*startUps, err)
		}
		got = append(got, piece[:n]...)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if sent := lines.sent(t); sent != startUps {
		t.Errorf("%v start-ups counted as sent, want %d", sent, startUps)
	}
	writer.Close()
	for line := range bytes.Lines(got) {
		if !json.Valid(line) {
			t.Fatalf("half a line: %.200s", line)
		}
	}
}

// TestJSONLinesWithStuckReader blocks the first write of the Writer forever. The Writer must drop and count the queued
// records, and must block no caller.
func TestJSONLinesWithStuckReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		lines := newLines(writerFunc(func(line []byte) (int, error) {
			<-stuck
			return 0, io.ErrClosedPipe // like the error after the reading program ended
		}))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- lines.Run(ctx) }()
		const startUps = 5000
		for range startUps {
			lines.Offer(startuptest.ColdStart())
			synctest.Wait()
		}
		if got := lines.dropped(t); got != startUps-1-queueLength {
			t.Errorf("dropped %v", got)
		}
		stop()
		close(stuck)
		if err := <-ended; !errors.Is(err, io.ErrClosedPipe) || lines.dropped(t) != startUps || lines.sent(t) != 0 {
			t.Errorf("%v, dropped %v of %d", err, lines.dropped(t), startUps)
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
