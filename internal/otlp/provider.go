package otlp

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// serviceName is the agent's default service name. OTEL_SERVICE_NAME replaces serviceName.
	serviceName = "podlapse-agent"
	scopeName   = "github.com/podlapse/podlapse" // scope of all spans and metrics; must not change when packages move
)

// newResource describes the sender: the agent, its version, its node, and the attributes in
// OTEL_RESOURCE_ATTRIBUTES.
func newResource(ctx context.Context, node, version string) (*resource.Resource, error) {
	made, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(
			semconv.ServiceName(serviceName), semconv.ServiceVersion(version),
			semconv.ServiceInstanceID(node), // unique, because a node has one agent
			semconv.K8SNodeName(node),
		),
		resource.WithFromEnv(), // OTEL_RESOURCE_ATTRIBUTES overrides the attributes above
	)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return made, nil
}

// tracer creates the spans of timelines with the SDK. The SDK reads its sampler and its limits from the OTEL_*
// variables. tracer is not safe for concurrent use.
type tracer struct {
	trace.Tracer
	ended    *endedSpans
	rollouts *sentRollouts // nil if each start-up has its own trace
}

// newTracer creates a tracer. If ofRollouts is true, the pods of a rollout share one trace.
func newTracer(of *resource.Resource, version string, ofRollouts bool) *tracer {
	var spans endedSpans
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithResource(of), sdktrace.WithIDGenerator(generator{}), sdktrace.WithSpanProcessor(&spans))
	made := &tracer{
		Tracer: provider.Tracer(scopeName, trace.WithInstrumentationVersion(version),
			trace.WithSchemaURL(semconv.SchemaURL)), ended: &spans,
	}
	if ofRollouts {
		made.rollouts = &sentRollouts{}
	}
	return made
}

// parentOf returns the parent of the root span of a pod's trace. The parent comes from the pod's annotation. If the pod
// has no annotation and --rollout-traces is set, the parent is the rollout's span. If the parent is a rollout, parentOf
// also returns the rollout's span.
func (t *tracer) parentOf(of timeline.Timeline) (context.Context, trace.Span) {
	ctx := withParent(context.Background(), of)
	rollout := rolloutOf(of)
	if t.rollouts == nil || !rollout.IsValid() || trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, nil
	}
	s := rolloutSpanOf(of)
	return t.Start(withNaming(ctx, naming{rollout.TraceID(), "", rootKey}), s.name,
		trace.WithTimestamp(s.start), trace.WithAttributes(s.attributes...))
}

// NewTraceOf returns a function that returns the hexadecimal ID of a start-up's trace. The ID is empty if the
// sampler drops the trace. The function is not safe for concurrent use.
func NewTraceOf(ofRollouts bool) func(timeline.Timeline) string {
	t := newTracer(resource.Empty(), "", ofRollouts)
	return func(of timeline.Timeline) string {
		above, _ := t.parentOf(of)
		_, root := t.Start(withNaming(above, naming{startUpTraceID(of), of.ID(), rootKey}), rootKey)
		if made := root.SpanContext(); made.IsSampled() { // the span never ends, so the SDK never sends it
			return made.TraceID().String()
		}
		return ""
	}
}

func startUpTraceID(t timeline.Timeline) trace.TraceID { return traceID("podlapse trace " + t.ID()) }

// spansOf creates the spans that an item adds to its trace, parents first. The result "bytes" is the approximate size
// of the spans in a request. If the sampler drops the trace, the list of spans is empty.
func (t *tracer) spansOf(i item) (spans []sdktrace.ReadOnlySpan, bytes int) {
	// For the start-up of the node, the timeline is empty, so the root span has no parent and no link.
	of := i.Timeline
	own, id := i.ids()
	under := map[string]context.Context{}
	above, rollout := t.parentOf(of)
	switch {
	case i.addsToTrace(): // this item needs only the IDs of the root span
		under[rootKey], _ = t.Start(withNaming(above, naming{own, id, rootKey}), rootKey)
	case rollout != nil && rollout.IsRecording() && t.rollouts.isNew(rollout.SpanContext().TraceID()):
		rollout.End(trace.WithTimestamp(of.SettledAt))
		bytes += rolloutSpanOf(of).sizeBytes()
	}
	for _, s := range i.spans() {
		bytes += s.sizeBytes()
		options := []trace.SpanStartOption{trace.WithTimestamp(s.start), trace.WithAttributes(s.attributes...)}
		parent := under[s.parent]
		if s.key == rootKey {
			parent = above
			if link := rolloutOf(of); link.IsValid() && rollout == nil {
				options = append(options, trace.WithLinks(trace.Link{SpanContext: link}))
			}
		}
		ctx, made := t.Start(withNaming(parent, naming{own, id, s.key}), s.name, options...)
		under[s.key] = ctx
		for _, e := range s.events {
			made.AddEvent(e.name, trace.WithTimestamp(e.at), trace.WithAttributes(e.attributes...))
		}
		if s.failure != "" {
			made.SetStatus(codes.Error, s.failure)
		}
		made.End(trace.WithTimestamp(s.end)) // the SDK also accepts children after their parent has ended
	}
	spans, t.ended.spans = t.ended.spans, nil
	if len(spans) == 0 {
		bytes = 0
	}
	return spans, bytes
}

// endedSpans collects the spans that have ended. endedSpans implements sdktrace.SpanProcessor.
type endedSpans struct{ spans []sdktrace.ReadOnlySpan }

func (e *endedSpans) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (e *endedSpans) OnEnd(s sdktrace.ReadOnlySpan)                   { e.spans = append(e.spans, s) }
func (e *endedSpans) Shutdown(context.Context) error                  { return nil }
func (e *endedSpans) ForceFlush(context.Context) error                { return nil }
