package record

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// queueCapacity is how many observations wait to be encoded: bursts of many pods at once.
const queueCapacity = 1024

// Config is what a Recorder needs; File and Report may be left out together.
type Config struct {
	Header     Header
	Before     []timeline.Observation // what was observed earlier, recorded first
	File       *File                  // nil for the ring alone; the recorder closes it
	Report     func(up bool, detail string)
	Registerer prometheus.Registerer // gets podlapse_recording_dropped_total
	Logger     *zap.Logger
}

// Recorder keeps what the sources observe.
type Recorder struct {
	config  Config
	header  []byte
	queue   chan timeline.Observation // when full, the newest is dropped
	dropped prometheus.Counter
	ring    ring

	file *File // of the goroutine in Run; nil once nothing is written any more
}

// New makes a recorder that writes nothing until Run. It panics when the registerer already has its
// metric.
func New(config Config) (*Recorder, error) {
	header, err := EncodeHeader(config.Header)
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		config: config, header: header, file: config.File,
		queue: make(chan timeline.Observation, queueCapacity),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_recording_dropped_total",
			Help: "Observations that are missing in the recording: more came at once than could be written, " +
				"the file had reached its limit, or writing had failed.",
		}),
	}
	config.Registerer.MustRegister(r.dropped)
	return r, nil
}

// Observe queues an observation, or counts it as dropped when the queue is full. It never blocks and
// may be called from any goroutine; nobody may change what the observation holds after.
func (r *Recorder) Observe(o timeline.Observation) {
	select {
	case r.queue <- o:
	default:
		r.dropped.Inc()
	}
}

// Run records until ctx is done, then what is still queued, and returns nil. When the file cannot take
// more, that is reported once, the file is closed and only the ring goes on.
func (r *Recorder) Run(ctx context.Context) error {
	r.begin()
	for _, o := range r.config.Before {
		r.record(o)
	}
	r.config.Before = nil
	for ctx.Err() == nil {
		select {
		case o := <-r.queue:
			r.record(o)
		case <-ctx.Done():
		}
		if len(r.queue) == 0 {
			r.flush()
		}
	}
	for {
		select {
		case o := <-r.queue:
			r.record(o)
		default:
			r.end()
			return nil
		}
	}
}

func (r *Recorder) record(o timeline.Observation) {
	line, err := Encode(o)
	if err != nil { // one odd observation is no reason to stop
		r.dropped.Inc()
		r.config.Logger.Debug("observation not recorded", zap.String("uid", o.PodUID()), zap.Error(err))
		return
	}
	r.ring.add(line)
	switch {
	case r.config.File == nil:
	case r.file == nil:
		r.dropped.Inc()
	case !r.file.fits(line):
		r.dropped.Inc()
		r.stop(errors.Join(r.file.full(), r.file.flush()))
	default:
		if err := r.file.write(line); err != nil {
			r.stop(err)
		}
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
	if err := r.file.flush(); err != nil {
		r.stop(err)
	}
}

// end also tells of an error that only closing brings up, as network file systems do.
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

// stop gives the file up, with the lines that it did not take.
func (r *Recorder) stop(err error) {
	r.dropped.Add(float64(r.file.waiting))
	err = errors.Join(err, r.file.out.Close())
	r.file = nil
	r.config.Report(false, "recording stopped until the agent is started again: "+err.Error())
}

// WriteTo writes the latest observations as a recording, from any goroutine.
func (r *Recorder) WriteTo(out io.Writer) (int64, error) {
	n, err := out.Write(r.header)
	written := int64(n)
	for _, line := range r.ring.latest() {
		if err != nil {
			break
		}
		n, err = out.Write(line)
		written += int64(n)
	}
	if err != nil {
		err = fmt.Errorf("write observations: %w", err)
	}
	return written, err
}
