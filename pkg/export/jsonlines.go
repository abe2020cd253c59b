package export

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
	// jsonLinesQueue is how many start-ups wait for a slow reader: hours of a busy node.
	jsonLinesQueue = 1024
	// jsonLinesSpare is how many of these entries are reserved for completed start-ups: one in
	// progress is written again later.
	jsonLinesSpare = jsonLinesQueue / 2
	// jsonLinesDrain is how long Run keeps writing queued start-ups after its context ends.
	jsonLinesDrain = 800 * time.Millisecond
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

// JSONLines writes records of start-ups to a stream, each as a whole line.
type JSONLines struct {
	config JSONLinesConfig
	queue  *sink.Queue[timeline.Timeline]
}

// JSONLinesConfig is what a JSONLines needs. Every field but Done is required.
type JSONLinesConfig struct {
	Out        io.Writer
	Kinds      []Lines // in the order in which a start-up's lines are written
	Now        func() time.Time
	Registerer prometheus.Registerer // gets the metrics of the sink records
	Logger     *zap.Logger
	// Done is called for each completed start-up, but not for the end of a pod, whose lines were
	// written, or dropped while the agent continues. It is not called for what is lost because
	// writing ended: the next agent may write that. It must not block, and is called from Offer and
	// Run.
	Done func(timeline.Timeline)
}

// NewJSONLines creates a sink that writes nothing until Run. It panics if its metrics are already
// registered.
func NewJSONLines(config JSONLinesConfig) *JSONLines {
	if config.Done == nil {
		config.Done = func(timeline.Timeline) {}
	}
	return &JSONLines{config: config, queue: sink.NewQueue[timeline.Timeline](sink.Config{
		Name: "records", Capacity: jsonLinesQueue, Drain: jsonLinesDrain, Registerer: config.Registerer,
	})}
}

// Offer queues a start-up or, with Timeline.Ended, the end of a pod. If the queue is full, it
// counts the item as dropped. It never blocks and may be called from any goroutine.
func (j *JSONLines) Offer(t timeline.Timeline) {
	if t.Partial {
		_ = j.queue.OfferLeaving(t, jsonLinesSpare) // counted; a later record has more
		return
	}
	if err := j.queue.Offer(t); errors.Is(err, sink.ErrFull) && !t.Ended() {
		j.config.Done(t)
	}
}

// Run writes records until ctx is done and then, for a short time, those still queued. It returns
// an error as soon as a record cannot be written, because no line can follow half a line. It does
// not interrupt a blocked write: the caller needs its own deadline for that.
func (j *JSONLines) Run(ctx context.Context) error {
	err := j.queue.Run(ctx, func(_ context.Context, t timeline.Timeline) error { return j.write(t) }, func() {})
	if err != nil {
		return fmt.Errorf("write records to standard output: %w", err)
	}
	return nil
}

// write writes all lines of a start-up at once.
func (j *JSONLines) write(t timeline.Timeline) error {
	lines, err := j.encode(t)
	if err == nil {
		if _, err := j.config.Out.Write(lines); err != nil {
			return err
		}
		j.queue.Sent(1)
	} else { // one bad record is no reason to stop the others
		j.queue.Drop(1)
		j.config.Logger.Error("cannot encode record", zap.String("namespace", t.Namespace),
			zap.String("pod", t.Name), zap.Error(err))
	}
	if !t.Partial && !t.Ended() {
		j.config.Done(t)
	}
	return nil
}

func (j *JSONLines) encode(t timeline.Timeline) ([]byte, error) {
	var lines bytes.Buffer
	now := j.config.Now()
	kinds := j.config.Kinds
	if t.Ended() {
		kinds = []Lines{TerminationLines}
	}
	for _, kind := range kinds {
		for _, value := range kind(t, now) {
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
