// Package jsonlines writes records of start-ups and terminations to standard output as lines of JSON. Its
// Writer takes them from reconcile's goroutine without blocking, and writes from its own.
package jsonlines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/sink"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// queueLength is how many start-ups wait for a slow reader: hours of a busy node.
	queueLength = 1024
	// queueSpare is how many of these entries are reserved for completed start-ups: one in
	// progress is written again later.
	queueSpare = queueLength / 2
	// drainTime is how long Run keeps writing queued start-ups after its context ends.
	drainTime = 800 * time.Millisecond
)

// Lines returns the lines of one kind of record for a start-up at a moment: each value becomes one
// line of JSON.
type Lines func(t timeline.Timeline, now time.Time) []any

// TimelineLines returns the record of a start-up, the same as in the API.
func TimelineLines(t timeline.Timeline, _ time.Time) []any { return []any{api.NewRecord(t)} }

// TerminationLines returns the record of a deleted pod; none if its end was not followed.
func TerminationLines(t timeline.Timeline, _ time.Time) []any {
	if line := api.NewTerminationLine(t); line != nil {
		return []any{line}
	}
	return nil
}

// Writer writes records of start-ups to a stream, each as a whole line.
type Writer struct {
	config Config
	queue  *sink.Queue[item]
}

// item is a start-up or, if terminated, the termination of a pod.
type item struct {
	timeline.Timeline
	terminated bool
}

// Config configures a Writer. Every field but Done is required.
type Config struct {
	Out        io.Writer
	Kinds      []Lines // in the order in which a start-up's lines are written
	Now        func() time.Time
	Registerer prometheus.Registerer // gets the metrics of the sink records
	Logger     *zap.Logger
	// Done is called for each completed start-up whose lines were written, or were dropped while the agent continues.
	// It is not called for terminations, nor for start-ups that are lost because writing ended: the next agent may
	// write those. It must not block, and is called from Offer and Run.
	Done func(timeline.Timeline)
}

// New creates a Writer that writes nothing until Run. It panics if its metrics are already
// registered.
func New(config Config) *Writer {
	if config.Done == nil {
		config.Done = func(timeline.Timeline) {}
	}
	return &Writer{config: config, queue: sink.NewQueue[item](sink.Config{
		Name: "records", Capacity: queueLength, Drain: drainTime, Registerer: config.Registerer,
	})}
}

// Offer queues a start-up. If the queue is full, it counts the start-up as dropped. It never blocks and may be called
// from any goroutine.
func (w *Writer) Offer(t timeline.Timeline) {
	if t.Partial {
		_ = w.queue.OfferLeaving(item{Timeline: t}, queueSpare) // counted; a later record has more
		return
	}
	if err := w.queue.Offer(item{Timeline: t}); errors.Is(err, sink.ErrFull) {
		w.config.Done(t)
	}
}

// OfferTermination is Offer for a completed Timeline.Termination.
func (w *Writer) OfferTermination(t timeline.Timeline) {
	_ = w.queue.Offer(item{Timeline: t, terminated: true}) // counted
}

// Run writes records until ctx is done and then, for a short time, those still queued. It returns
// an error as soon as a record cannot be written, because no line can follow half a line. It does not interrupt a
// blocked write, so the caller needs its own deadline.
func (w *Writer) Run(ctx context.Context) error {
	err := w.queue.Run(ctx, func(_ context.Context, i item) error { return w.write(i) }, func() {})
	if err != nil {
		return fmt.Errorf("write records to standard output: %w", err)
	}
	return nil
}

// write writes all lines of an item at once.
func (w *Writer) write(i item) error {
	lines, err := w.encode(i)
	if err == nil {
		if _, err := w.config.Out.Write(lines); err != nil {
			return err
		}
		w.queue.Sent(1)
	} else { // one bad record is no reason to stop the others
		w.queue.Drop(1)
		w.config.Logger.Error("cannot encode record", zap.String("namespace", i.Namespace),
			zap.String("pod", i.Name), zap.Error(err))
	}
	if !i.Partial && !i.terminated {
		w.config.Done(i.Timeline)
	}
	return nil
}

func (w *Writer) encode(i item) ([]byte, error) {
	var lines bytes.Buffer
	now := w.config.Now()
	kinds := w.config.Kinds
	if i.terminated {
		kinds = []Lines{TerminationLines}
	}
	for _, kind := range kinds {
		for _, value := range kind(i.Timeline, now) {
			line, err := api.EncodeLine(value)
			if err != nil {
				return nil, err
			}
			lines.Write(line)
			lines.WriteByte('\n')
		}
	}
	return lines.Bytes(), nil
}
