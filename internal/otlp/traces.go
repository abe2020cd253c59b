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
	// holds in flight. So if an agent is killed and all start-ups that were in progress end at once, none of them is
	// dropped. They take 1 MiB while the pods are present, because reconcile holds the same timelines, and some 5 MiB
	// if all pods are gone.
	tracesQueue = 1024
	// batchItems, batchSpans and batchBytes limit a request: collectors accept 4 MiB by default,
	// and a span is about 500 bytes.
	batchItems = 32
	batchSpans = 1024
	batchBytes = 2 << 20
	// flush is how long Run keeps sending queued start-ups after its context ends.
	flush = 800 * time.Millisecond
	// closing limits the shutdown of an exporter without requests in progress.
	closing = 50 * time.Millisecond
)

// TracesConfig is what Traces needs. Every field but Done and Stopping is required.
type TracesConfig struct {
	Signal     Signal // must be on
	Rollouts   bool   // put the pods of a rollout into one trace
	Node       string
	Version    string                // of the agent
	Registerer prometheus.Registerer // gets podlapse_sink_*{sink="otlp"}
	Report     health.Report
	Logger     *zap.Logger
	// Done is called for each start-up whose trace the collector accepted or rejected permanently, that the sampler
	// dropped, or that was dropped while the agent continues. It is not called for later events, nor for start-ups that
	// are lost after the agent was told to stop: the next agent may send those. It must not block, and is called from
	// Offer and Run.
	Done func(timeline.Timeline)
	// Stopping reports whether the agent was told to stop. The caller of Offer learns this earlier than Run does. It
	// may be called from any goroutine.
	Stopping func() bool
}

// Traces sends a trace of each settled start-up. Traces that the collector does not accept in time are dropped, and
// counted once per start-up.
type Traces struct {
	config   TracesConfig
	queue    *sink.Queue[item]
	tracer   *tracer
	exporter sdktrace.SpanExporter

	answers answers

	batch []sdktrace.ReadOnlySpan
	bytes int             // of the batch, approximately
	items []item          // in the batch
	run   context.Context // of Run
	limit context.Context // of the current delivery: it ends a while after that of Run
}

// NewTraces creates a sink that does not connect until there is something to send. It panics if its
// metrics are already registered.
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
		queue: sink.NewQueue[item](sink.Config{
			Name: "otlp", Capacity: tracesQueue, Drain: flush, Registerer: config.Registerer,
		}),
	}
}

// Offer queues a start-up. If 1024 items wait, it counts the start-up as dropped. It never blocks and may be called
// from any goroutine.
func (s *Traces) Offer(t timeline.Timeline) {
	if err := s.queue.Offer(item{Timeline: t}); errors.Is(err, sink.ErrFull) && !s.config.Stopping() {
		s.config.Done(t)
	}
}

// OfferTermination is Offer for a completed Timeline.Termination.
func (s *Traces) OfferTermination(t timeline.Timeline) {
	_ = s.queue.Offer(item{Timeline: t, kind: termination}) // counted
}

// OfferPostStartup is Offer for what happened to a pod after its start-up.
func (s *Traces) OfferPostStartup(t timeline.Timeline, event timeline.PostStartup) {
	_ = s.queue.Offer(item{Timeline: t, kind: postStartup, event: event}) // counted
}

// Run sends until ctx is done. Then it sends queued start-ups for less than a second. An absent collector is not an
// error: the health board reports it. Run may be called once.
func (s *Traces) Run(ctx context.Context) error {
	s.config.Report(true, "nothing sent yet to "+s.config.Signal.Endpoint)
	s.run = ctx
	err := s.queue.Run(ctx, s.take, s.send)
	s.run, s.limit = nil, nil
	s.queue.Drop(len(s.items))
	s.batch, s.bytes, s.items = nil, 0, nil
	if err != nil {
		s.config.Report(false, err.Error())
	}
	ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	_ = s.exporter.Shutdown(ended)
	return nil
}

// take adds an item to the batch, and sends the batch when it is full.
func (s *Traces) take(ctx context.Context, i item) error {
	s.limit = ctx
	spans, bytes := s.tracer.spans(i)
	if s.bytes+bytes > batchBytes {
		s.send()
	}
	s.batch = append(s.batch, spans...)
	s.bytes += bytes
	s.items = append(s.items, i)
	if len(s.items) >= batchItems || len(s.batch) >= batchSpans {
		s.send()
	}
	return nil
}

// send sends the batch, and counts the result.
func (s *Traces) send() {
	spans, items := s.batch, s.items
	s.batch, s.bytes, s.items = nil, 0, nil
	if len(items) == 0 {
		return
	}
	var err error
	if len(spans) > 0 { // otherwise the sampler dropped all of them
		err = send(s.limit, s.config.Signal.Timeout, func(ctx context.Context) error {
			return s.exporter.ExportSpans(ctx, spans)
		})
	}
	taken, detail := s.answers.read(err)
	s.config.Report(taken, detail)
	if taken {
		s.queue.Sent(len(items))
	} else {
		s.queue.Drop(len(items))
		s.tracer.rollouts.lost(spans)
		// The agent's end may be the reason: the next agent has time to send it.
		if s.run.Err() != nil && !refused(err) {
			return
		}
	}
	for _, i := range items {
		if i.kind == startUp {
			s.config.Done(i.Timeline)
		}
	}
}
