package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// jsonLinesQueue is how many settled pods wait for a slow reader: hours of a busy node.
	jsonLinesQueue = 1024
	// jsonLinesDrain is how long Run goes on writing what is queued after it was told to stop.
	jsonLinesDrain = 800 * time.Millisecond
)

// JSONLines writes one record per settled pod to a stream, each a whole line.
type JSONLines struct {
	out     io.Writer
	logger  *zap.Logger
	done    func(timeline.Timeline)
	queue   chan timeline.Timeline // when full, the newest is dropped: what was promised first is kept, in order
	dropped prometheus.Counter
}

// JSONLinesConfig is what a JSONLines needs; every field but Done is required.
type JSONLinesConfig struct {
	Out        io.Writer
	Registerer prometheus.Registerer // gets podlapse_records_dropped_total
	Logger     *zap.Logger
	// Done is told of each timeline whose line was written, or dropped although the agent goes on. What is lost
	// because writing ended is not done: the next agent may write it. It must not block, and is called from
	// Offer and Run.
	Done func(timeline.Timeline)
}

// NewJSONLines makes a sink that writes nothing until Run. It panics when the registerer already
// has its metric.
func NewJSONLines(config JSONLinesConfig) *JSONLines {
	j := &JSONLines{
		out:    config.Out,
		logger: config.Logger,
		done:   config.Done,
		queue:  make(chan timeline.Timeline, jsonLinesQueue),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_records_dropped_total",
			Help: "Records of settled pods that were not written to standard output, " +
				"because its reader was too slow or gone.",
		}),
	}
	if j.done == nil {
		j.done = func(timeline.Timeline) {}
	}
	config.Registerer.MustRegister(j.dropped)
	return j
}

// Offer queues a timeline for writing, or counts it as dropped when the queue is full. It never
// blocks and may be called from any goroutine.
func (j *JSONLines) Offer(t timeline.Timeline) {
	select {
	case j.queue <- t:
	default:
		j.dropped.Inc()
		j.done(t)
	}
}

// Run writes records until ctx is done and then, for a short while, those still queued. It returns
// an error as soon as one cannot be written, since after half a line no other can follow. A write
// that blocks is not interrupted: the caller's own deadline must cover that.
func (j *JSONLines) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case t := <-j.queue:
			if err := j.write(t); err != nil {
				return j.abandon(err)
			}
		case <-ctx.Done():
		}
	}
	return j.drain(time.Now().Add(jsonLinesDrain))
}

func (j *JSONLines) drain(deadline time.Time) error {
	for time.Now().Before(deadline) {
		select {
		case t := <-j.queue:
			if err := j.write(t); err != nil {
				return j.abandon(err)
			}
		default:
			return nil
		}
	}
	if len(j.queue) == 0 {
		return nil
	}
	return j.abandon(errors.New("write queued records: reader too slow"))
}

// abandon counts what is queued as dropped and says how much that was.
func (j *JSONLines) abandon(err error) error {
	lost := len(j.queue)
	j.dropped.Add(float64(lost))
	return fmt.Errorf("%w (%d queued records lost)", err, lost)
}

func (j *JSONLines) write(t timeline.Timeline) error {
	line, err := encodeLine(NewRecord(t))
	if err != nil { // one odd record is no reason to stop the others
		j.dropped.Inc()
		j.logger.Error("cannot encode record", zap.String("namespace", t.Namespace),
			zap.String("pod", t.Name), zap.Error(err))
		j.done(t)
		return nil
	}
	if _, err := j.out.Write(line); err != nil {
		j.dropped.Inc()
		return fmt.Errorf("write record to standard output: %w", err)
	}
	j.done(t)
	return nil
}

func encodeLine(record Record) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false) // image references and messages stay readable
	if err := encoder.Encode(record); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
