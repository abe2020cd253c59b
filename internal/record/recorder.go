package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/sink"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// queueCapacity is how many observations wait to be encoded: bursts of many pods at once.
	queueCapacity = 1024
	// drain is how long Run keeps recording queued observations after its context ends.
	drain = 800 * time.Millisecond
)

// Config configures a Recorder. File and Report may be omitted together.
type Config struct {
	Header     Header
	Before     []timeline.Observation // what was observed earlier, recorded first
	Latest     bool                   // keep the latest in memory, for WriteTo
	File       *File                  // nil to record only in memory; the recorder closes it
	Report     func(up bool, detail string)
	Registerer prometheus.Registerer // gets the metrics of the sink recording
	Logger     *zap.Logger
}

// Recorder records the observations of the sources.
type Recorder struct {
	config Config
	header []byte
	queue  *sink.Queue[timeline.Observation]
	ring   ring

	file *File // used by the goroutine in Run; nil once writing has stopped
}

// New creates a recorder that writes nothing until Run. It panics if its metric is already
// registered.
func New(config Config) (*Recorder, error) {
	header, err := EncodeHeader(config.Header)
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

// Observe queues an observation, or counts it as dropped if the queue is full. It never blocks and
// may be called from any goroutine. The observation must not be changed afterwards.
func (r *Recorder) Observe(o timeline.Observation) {
	_ = r.queue.Offer(o) // a gap in a recording is better than a slow source
}

// Run records until ctx is done. Then it records queued observations for a short time. If the file cannot take more,
// Run reports that once and closes the file; the latest observations in memory continue. It returns an error if not
// everything queued was recorded.
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

// record counts the observation as sent if there is no file, otherwise when the file has it.
func (r *Recorder) record(o timeline.Observation) {
	line, err := Encode(o)
	if err != nil { // one bad observation is no reason to stop
		r.queue.Drop(1)
		r.config.Logger.Debug("observation not recorded", zap.String("uid", o.PodUID()), zap.Error(err))
		return
	}
	if r.config.Latest {
		r.ring.add(line)
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
		r.after(r.file.write(line))
	}
}

// after counts the lines that are on the disk, and stops writing if the disk did not accept everything.
func (r *Recorder) after(taken int, err error) {
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
	r.after(r.file.flush())
}

// end also reports errors that appear only when the file is closed, as on network file systems.
func (r *Recorder) end() {
	r.flush()
	if r.file == nil {
		return
	}
	if err := r.file.out.Close(); err != nil {
		r.config.Report(false, "recording ended: "+err.Error())
	}
	r.file = nil
}

// stop closes the file, and counts the lines that it did not accept as dropped.
func (r *Recorder) stop(err error) {
	r.queue.Drop(r.file.waiting)
	err = errors.Join(err, r.file.out.Close())
	r.file = nil
	r.config.Report(false, "recording stopped until the agent restarts: "+err.Error())
}

// WriteTo writes the latest observations as a recording, from any goroutine. Without Config.Latest,
// there are none.
func (r *Recorder) WriteTo(out io.Writer) (int64, error) {
	lines := net.Buffers(append([][]byte{r.header}, r.ring.latest()...))
	written, err := lines.WriteTo(out)
	if err != nil {
		err = fmt.Errorf("write observations: %w", err)
	}
	return written, err
}
