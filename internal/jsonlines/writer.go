// Package jsonlines writes records of start-ups and terminations to standard output as lines of JSON. The goroutine of
// package reconcile passes start-ups to the Writer without blocking. The Writer writes the records from its own
// goroutine.
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
	// queueLength is the maximum number of items in the queue. If nothing reads standard output, a busy node takes
	// hours to fill the queue.
	queueLength = 1024
	// queueSpare is the number of queue entries that are not for start-ups in progress. If all other entries are full,
	// the Writer drops a start-up in progress. The loss is acceptable, because the Writer receives the start-up again
	// later.
	queueSpare = queueLength / 2
	// drainTime limits how long Run continues to write queued records after its context is done.
	drainTime = 800 * time.Millisecond
)

// Lines returns the records of one kind for a start-up. The argument "now" is the current time. Each returned value
// becomes one line of JSON.
type Lines func(t timeline.Timeline, now time.Time) []any

// TimelineLines returns the record of a start-up. The API returns the same record for a start-up.
func TimelineLines(t timeline.Timeline, _ time.Time) []any { return []any{api.NewRecord(t)} }

// TerminationLines returns the record of a pod's termination. If the agent did not follow the termination,
// TerminationLines returns no record.
func TerminationLines(t timeline.Timeline, _ time.Time) []any {
	if line := api.NewTerminationLine(t); line != nil {
		return []any{line}
	}
	return nil
}

// Writer writes records of start-ups and terminations to a stream. Each record is one line.
type Writer struct {
	config Config
	queue  *sink.Queue[item]
}

// item is an entry of the queue. If the field "node" is not nil, the item is the start-up of the node. If the field
// "terminated" is true, the item is the termination of a pod. If neither field is set, the item is the start-up of a
// pod.
type item struct {
	timeline.Timeline
	terminated bool
	node       *api.NodeStartUpRecord
}

// Config configures a Writer. Every field except Done is required.
type Config struct {
	Out        io.Writer
	Kinds      []Lines // kinds of records, in the order in which the Writer writes them
	Now        func() time.Time
	Registerer prometheus.Registerer // registers the metrics of the sink "records"
	Logger     *zap.Logger
	// Done receives each completed start-up after the Writer has written or dropped its lines. Done receives no
	// terminations. If Run stops before it writes a start-up, Done does not receive this start-up. After a restart, the
	// agent can write a start-up that Done has not received. Offer and Run call Done. Done must not block.
	Done func(timeline.Timeline)
}

// New creates a Writer. The Writer writes nothing before Run. New panics if the metrics are already registered.
func New(config Config) *Writer {
	if config.Done == nil {
		config.Done = func(timeline.Timeline) {}
	}
	return &Writer{config: config, queue: sink.NewQueue[item](sink.Config{
		Name: "records", Capacity: queueLength, Drain: drainTime, Registerer: config.Registerer,
	})}
}

// Offer queues a start-up. If the queue has no room for the start-up (see queueSpare), Offer drops the start-up and
// counts the drop. Offer never blocks and is safe to call from any goroutine.
func (w *Writer) Offer(t timeline.Timeline) {
	if t.Partial {
		// The queue counts each item that it drops. A later record of this start-up replaces the dropped record.
		_ = w.queue.OfferLeaving(item{Timeline: t}, queueSpare)
		return
	}
	if err := w.queue.Offer(item{Timeline: t}); errors.Is(err, sink.ErrFull) {
		w.config.Done(t)
	}
}

// OfferTermination queues the completed termination of a pod (Timeline.Termination). If the queue is full,
// OfferTermination drops the termination. OfferTermination never blocks.
func (w *Writer) OfferTermination(t timeline.Timeline) {
	_ = w.queue.Offer(item{Timeline: t, terminated: true}) // ignore the error: the queue counts dropped items
}

// OfferNodeStartUp queues the start-up of the node. If the queue is full, OfferNodeStartUp drops the record.
// OfferNodeStartUp never blocks.
func (w *Writer) OfferNodeStartUp(r api.NodeStartUpRecord) {
	_ = w.queue.Offer(item{node: &r}) // ignore the error: the queue counts dropped items
}

// Run writes records until ctx is done. When ctx is done, Run continues for at most drainTime to write queued records.
// If a write fails, Run returns the error immediately. The failed write can leave an incomplete line, so no other line
// can follow. If a write blocks, Run also blocks, even after ctx is done. So the caller needs its own deadline.
func (w *Writer) Run(ctx context.Context) error {
	err := w.queue.Run(ctx, func(_ context.Context, i item) error { return w.write(i) }, func() {})
	if err != nil {
		return fmt.Errorf("write records to standard output: %w", err)
	}
	return nil
}

// write writes all lines of an item in one call.
func (w *Writer) write(i item) error {
	lines, err := w.encode(i)
	if err == nil {
		if _, err := w.config.Out.Write(lines); err != nil {
			return err
		}
		w.queue.Sent(1)
	} else { // skip the item, so that an invalid record does not stop the other records
		w.queue.Drop(1)
		w.config.Logger.Error("cannot encode record", zap.String("namespace", i.Namespace),
			zap.String("pod", i.Name), zap.Error(err))
	}
	if !i.Partial && !i.terminated && i.node == nil {
		w.config.Done(i.Timeline)
	}
	return nil
}

func (w *Writer) encode(i item) ([]byte, error) {
	var lines bytes.Buffer
	now := w.config.Now()
	kinds := w.config.Kinds
	switch {
	case i.node != nil:
		kinds = []Lines{func(timeline.Timeline, time.Time) []any {
			return []any{api.NodeStartUpLine{NodeStartUp: *i.node}}
		}}
	case i.terminated:
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
