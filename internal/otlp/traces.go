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
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// tracesQueue is the maximum number of settled start-ups that wait for a slow collector. The state file holds at
	// most the same number of start-ups. So after a restart, the queue has room for all start-ups in the state file,
	// even if they all complete at the same time. While the pods of the queued start-ups exist, package reconcile
	// shares its timelines with the queue. With such shared timelines, a full queue takes only 1 MiB. After the
	// deletion of the pods, only the queue holds the timelines, and a full queue takes about 5 MiB.
	tracesQueue = 1024
	// batchItems, batchSpans and batchBytes limit a request. Collectors accept 4 MiB by default, and a span has
	// about 500 bytes.
	batchItems = 32
	batchSpans = 1024
	batchBytes = 2 << 20
	// flush is the time limit for sending queued start-ups after the context of Run is done.
	flush = 800 * time.Millisecond
	// closeTimeout is the time limit for the shutdown of an exporter. At the shutdown, no requests are in progress.
	closeTimeout = 50 * time.Millisecond
)

// TracesConfig configures a Traces. Every field except Done and Stopping is required.
type TracesConfig struct {
	Signal     Signal // settings of the export of traces; the field On must be true
	Rollouts   bool   // true to put the pods of a rollout into one trace
	Node       string
	Version    string                // version of the agent
	Registerer prometheus.Registerer // registers podlapse_sink_*{sink="otlp"}
	Report     health.Report
	Logger     *zap.Logger
	// Done is called once for each start-up, after one of these events:
	//   - the collector accepted or permanently rejected the trace
	//   - the sampler dropped the trace
	//   - the start-up was dropped, and the agent was not stopping
	//
	// If Traces drops a start-up while the agent is stopping, Traces does not call Done. The next agent on this node
	// can then send the trace. Done is called only for start-ups of pods. Done must not block. Offer and Run call Done.
	Done func(timeline.Timeline)
	// Stopping returns true if the agent must stop. Stopping can return true before the context of Run is done.
	// Stopping must be safe to call from any goroutine.
	Stopping func() bool
}

// Traces sends a trace of each settled start-up. If the collector does not accept a batch in time, Traces drops the
// batch and counts each item of the batch as dropped.
type Traces struct {
	config   TracesConfig
	queue    *sink.Queue[item]
	tracer   *tracer
	exporter sdktrace.SpanExporter

	responses healthReporter

	batch []sdktrace.ReadOnlySpan
	bytes int             // approximate size of the batch
	items []item          // items in the batch
	run   context.Context // context of Run
	limit context.Context // context of the current delivery; can end later than the context of Run
}

// NewTraces creates a Traces. A new Traces connects to the collector only when it has data to send. NewTraces panics if
// its metrics are already registered.
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
		responses: healthReporter{endpoint: config.Signal.Endpoint, logger: config.Logger},
		queue: sink.NewQueue[item](sink.Config{
			Name: "otlp", Capacity: tracesQueue, Drain: flush, Registerer: config.Registerer,
		}),
	}
}

// Offer queues a start-up. If the queue is full, Offer drops the start-up and counts the drop. Offer never blocks and
// is safe to call from any goroutine.
func (s *Traces) Offer(t timeline.Timeline) {
	if err := s.queue.Offer(item{Timeline: t}); errors.Is(err, sink.ErrFull) && !s.config.Stopping() {
		s.config.Done(t)
	}
}

// OfferTermination queues a completed Timeline.Termination. If the queue is full, OfferTermination drops the
// termination and counts the drop.
func (s *Traces) OfferTermination(t timeline.Timeline) {
	_ = s.queue.Offer(item{Timeline: t, kind: termination}) // the queue itself counts dropped items
}

// OfferPostStartup queues an event that occurred after a pod's start-up. If the queue is full, OfferPostStartup drops
// the event and counts the drop.
func (s *Traces) OfferPostStartup(t timeline.Timeline, event timeline.PostStartup) {
	_ = s.queue.Offer(item{Timeline: t, kind: postStartup, event: event}) // the queue itself counts dropped items
}

// OfferNodeStartUp queues the completed start-up of the node. If the queue is full, OfferNodeStartUp drops the start-up
// and counts the drop.
func (s *Traces) OfferNodeStartUp(r api.NodeStartUpRecord) {
	_ = s.queue.Offer(item{kind: nodeStartUp, node: &r}) // the queue itself counts dropped items
}

// Run sends start-ups until ctx is done. When ctx is done, Run still tries to send the queued start-ups, but returns
// within a second. If the collector is unreachable, Run returns no error, but reports the failure to the health board.
// The caller can call Run only once.
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
	ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = s.exporter.Shutdown(ended)
	return nil
}

// take adds an item to the batch. If the batch is full, take sends the batch.
func (s *Traces) take(ctx context.Context, i item) error {
	s.limit = ctx
	spans, bytes := s.tracer.spansOf(i)
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

// send sends the batch and counts the result.
func (s *Traces) send() {
	spans, items := s.batch, s.items
	s.batch, s.bytes, s.items = nil, 0, nil
	if len(items) == 0 {
		return
	}
	var err error
	if len(spans) > 0 { // if there are no spans, the sampler dropped all items
		err = sendWithRetries(s.limit, s.config.Signal.Timeout, func(ctx context.Context) error {
			return s.exporter.ExportSpans(ctx, spans)
		})
	}
	taken, detail := s.responses.read(err)
	s.config.Report(taken, detail)
	if taken {
		s.queue.Sent(len(items))
	} else {
		s.queue.Drop(len(items))
		s.tracer.rollouts.forget(spans)
		// While the agent is stopping, send does not call Done, so that the next agent sends the trace.
		if s.run.Err() != nil && !isRefused(err) {
			return
		}
	}
	for _, i := range items {
		if i.kind == startUp {
			s.config.Done(i.Timeline)
		}
	}
}
