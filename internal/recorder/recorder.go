package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/internal/sink"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// queueCapacity is the maximum number of observations that wait to be encoded. queueCapacity is large enough for
	// bursts of many pods.
	queueCapacity = 1024
	// drain is the maximum time for which Run records queued observations after its context is done.
	drain = 800 * time.Millisecond
)

// Config configures a Recorder. The field File is optional. The field Report is required only if the field File is set.
type Config struct {
	Header     recording.Header
	Before     []timeline.Observation // earlier observations; the Recorder records them first
	Latest     bool                   // true to keep the latest observations in memory for WriteTo
	File       *File                  // the Recorder closes this file; nil to record only in memory
	Report     func(up bool, detail string)
	Registerer prometheus.Registerer // registers the metrics of the sink "recording"
	Logger     *zap.Logger
}

// Recorder records the observations of the sources.
type Recorder struct {
	config Config
	header []byte
	queue  *sink.Queue[timeline.Observation]
	ring   ring

	file *File // nil after a failure; only the goroutine in Run uses this field
}

// New creates a recorder. The recorder writes nothing until Run. New panics if its metrics are already registered.
func New(config Config) (*Recorder, error) {
	header, err := recording.EncodeHeader(config.Header)
	if err != nil {
		return nil, err
	}
	return &Recorder{
		config: config, header: header, file: config.File,
		queue: sink.NewQueue[timeline.Observation](sink.Config{
			Name: "recording", Capacity: queueCapacity, Drain: drain, Registerer: config.Registerer,
		}),
	}, nil
}

// Observe queues an observation. If the queue is full, Observe drops the observation and counts the drop. Observe
// never blocks and is safe to call from any goroutine. The caller must not change the observation afterwards.
func (r *Recorder) Observe(o timeline.Observation) {
	_ = r.queue.Offer(o) // a lost observation is better than a source that must wait
}

// Run records until ctx is done. After ctx is done, Run still records queued observations for a short time. If a write
// to the file fails, Run reports the failure once, closes the file, and continues in memory. Run returns an error if
// queued observations were not recorded.
func (r *Recorder) Run(ctx context.Context) error {
	r.begin()
	for _, o := range r.config.Before {
		r.record(o)
	}
	r.config.Before = nil
	err := r.queue.Run(ctx, func(_ context.Context, o timeline.Observation) error {
		r.record(o)
		return nil
	}, r.flush)
	r.end()
	if err != nil {
		return fmt.Errorf("record observations: %w", err)
	}
	return nil
}

// record encodes an observation. If the Recorder has no file, record immediately counts the observation as sent. If the
// Recorder has a file, the observation counts as sent only after the file has received the line.
func (r *Recorder) record(o timeline.Observation) {
	line, err := recording.Encode(o)
	if err != nil { // one invalid observation must not stop the recording
		r.queue.Drop(1)
		r.config.Logger.Debug("cannot record an observation", zap.String("uid", o.PodUID()), zap.Error(err))
		return
	}
	if r.config.Latest {
		r.ring.addLine(line)
	}
	switch {
	case r.config.File == nil:
		r.queue.Sent(1)
	case r.file == nil:
		r.queue.Drop(1)
	case !r.file.fits(line):
		r.queue.Drop(1)
		taken, err := r.file.flush()
		r.queue.Sent(taken)
		r.stop(errors.Join(r.file.full(), err))
	default:
		r.countWritten(r.file.write(line))
	}
}

// countWritten counts the lines that the file received. If a write failed, countWritten stops recording to the file.
func (r *Recorder) countWritten(taken int, err error) {
	r.queue.Sent(taken)
	if err != nil {
		r.stop(err)
	}
}

func (r *Recorder) begin() {
	if r.file == nil {
		return
	}
	if err := r.file.begin(r.header); err != nil {
		r.stop(err)
		return
	}
	r.config.Report(true, "recording")
}

func (r *Recorder) flush() {
	if r.file == nil {
		return
	}
	r.countWritten(r.file.flush())
}

// end writes the buffer, closes the file, and reports errors. Some file systems, for example network file systems,
// report a write error only when the file is closed.
func (r *Recorder) end() {
	r.flush()
	if r.file == nil {
		return
	}
	if err := r.file.out.Close(); err != nil {
		r.config.Report(false, "close the recording: "+err.Error())
	}
	r.file = nil
}

// stop closes the file and counts the lines in the buffer as dropped.
func (r *Recorder) stop(err error) {
	r.queue.Drop(r.file.waiting)
	err = errors.Join(err, r.file.out.Close())
	r.file = nil
	r.config.Report(false, "recording stopped until the agent restarts: "+err.Error())
}

// WriteTo writes the latest observations as a recording. Any goroutine can call WriteTo. If Config.Latest is false, the
// recording contains only the header.
func (r *Recorder) WriteTo(out io.Writer) (int64, error) {
	lines := net.Buffers(append([][]byte{r.header}, r.ring.latest()...))
	written, err := lines.WriteTo(out)
	if err != nil {
		err = fmt.Errorf("write observations: %w", err)
	}
	return written, err
}
