package otlp

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/sink"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// tracesQueue is how many settled start-ups wait for a slow collector: as many as the state
	// holds in flight, so that none of those that an agent was killed in the midst of is dropped
	// because all of them end at once. They take 1 MiB while the pods are there, whose timelines
	// reconcile has as well, and some 5 MiB if all of them are gone.
	tracesQueue = 1024
	// batchStartups, batchSpans and batchBytes are when a request is full: collectors take 4 MiB at
	// once by default, and a span is about 500 bytes.
	batchStartups = 32
	batchSpans    = 1024
	batchBytes    = 2 << 20
	// flush is how long Run goes on sending what waits after it was told to stop.
	flush = 800 * time.Millisecond
	// closing bounds the end of an exporter that has nothing under way any more.
	closing = 50 * time.Millisecond
)

// TracesConfig is what Traces needs; every field but Done and Stopping is required.
type TracesConfig struct {
	Signal     Signal // on
	Rollouts   bool   // the pods of a rollout in one trace
	Node       string
	Version    string                // of the agent
	Registerer prometheus.Registerer // gets podlapse_sink_*{sink="otlp"}
	Report     health.Report
	Logger     *zap.Logger
	// Done is told of each start-up, not of what came after one, whose trace the collector took or
	// refused for good, or the sampler left out, or that was dropped although the agent goes on.
	// What is lost once the agent was told to stop is not done: the next one may send it. It must
	// not block, and is called from Offer and Run.
	Done func(timeline.Timeline)
	// Stopping says that the agent was told to stop, of which Run hears later than who offers. It
	// may be called from any goroutine.
	Stopping func() bool
}

// Traces sends a trace of each settled start-up. What the collector does not take in time is dropped and counted,
// one for each start-up.
type Traces struct {
	config   TracesConfig
	queue    *sink.Queue[timeline.Timeline]
	tracer   *tracer
	exporter sdktrace.SpanExporter

	answers answers

	batch    []sdktrace.ReadOnlySpan
	bytes    int                 // about, of the batch
	startups []timeline.Timeline // in the batch
	run      context.Context     // of Run
	limit    context.Context     // of the delivery that goes on: it ends a while after that of Run
}

// NewTraces makes a sink that connects to nobody until something is to be sent. It panics when the registerer has its
// metrics already.
func NewTraces(ctx context.Context, config TracesConfig) (*Traces, error) {
	from, err := newResource(ctx, config.Node, config.Version)
	if err != nil {
		return nil, err
	}
	exporter, err := newSpanExporter(ctx, config.Signal)
	if err != nil {
		return nil, err
	}
	return newTraces(config, newTracer(from, config.Version, config.Rollouts), exporter), nil
}

func newTraces(config TracesConfig, tracer *tracer, exporter sdktrace.SpanExporter) *Traces {
	if config.Done == nil {
		config.Done = func(timeline.Timeline) {}
	}
	if config.Stopping == nil {
		config.Stopping = func() bool { return false }
	}
	return &Traces{
		config: config, tracer: tracer, exporter: exporter,
		answers: answers{endpoint: config.Signal.Endpoint, logger: config.Logger},
		queue: sink.NewQueue[timeline.Timeline](sink.Config{
			Name: "otlp", Capacity: tracesQueue, Drain: flush, Registerer: config.Registerer,
		}),
	}
}

// Offer queues a start-up, or what came after one (Timeline.StartUp), or counts it as dropped when
// 1024 wait. It never blocks and may be called from any goroutine.
func (s *Traces) Offer(t timeline.Timeline) {
	if err := s.queue.Offer(t); errors.Is(err, sink.ErrFull) && !s.config.Stopping() && t.StartUp() {
		s.config.Done(t)
	}
}

// Run sends until ctx is done, and then, for less than a second, what still waits. A collector that
// is gone is no error: the health board tells of it. Run may be called once.
func (s *Traces) Run(ctx context.Context) error {
	s.config.Report(true, "nothing sent yet to "+s.config.Signal.Endpoint)
	s.run = ctx
	err := s.queue.Run(ctx, s.take, s.send)
	s.run, s.limit = nil, nil
	s.queue.Drop(len(s.startups))
	s.batch, s.bytes, s.startups = nil, 0, nil
	if err != nil {
		s.config.Report(false, err.Error())
	}
	ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	_ = s.exporter.Shutdown(ended)
	return nil
}

// take adds a start-up to the batch, and sends it when it is full.
func (s *Traces) take(ctx context.Context, t timeline.Timeline) error {
	s.limit = ctx
	spans, bytes := s.tracer.spans(t)
	if s.bytes+bytes > batchBytes {
		s.send()
	}
	s.batch = append(s.batch, spans...)
	s.bytes += bytes
	s.startups = append(s.startups, t)
	if len(s.startups) >= batchStartups || len(s.batch) >= batchSpans {
		s.send()
	}
	return nil
}

// send sends the batch, and counts what became of it.
func (s *Traces) send() {
	spans, startups := s.batch, s.startups
	s.batch, s.bytes, s.startups = nil, 0, nil
	if len(startups) == 0 {
		return
	}
	var err error
	if len(spans) > 0 { // else the sampler left all of them out
		err = send(s.limit, s.config.Signal.Timeout, func(ctx context.Context) error {
			return s.exporter.ExportSpans(ctx, spans)
		})
	}
	taken, detail := s.answers.read(err)
	s.config.Report(taken, detail)
	if taken {
		s.queue.Sent(len(startups))
	} else {
		s.queue.Drop(len(startups))
		s.tracer.rollouts.lost(spans)
		if s.run.Err() != nil && !refused(err) { // the end may be why: the next agent has the time
			return
		}
	}
	for _, t := range startups {
		if t.StartUp() {
			s.config.Done(t)
		}
	}
}
