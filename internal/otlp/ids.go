package otlp

import (
	"context"
	"crypto/sha256"

	"go.opentelemetry.io/otel/trace"
)

// traceID derives a trace ID from a text. The ID is the same on every node and after every restart.
func traceID(name string) (id trace.TraceID) {
	sum := sha256.Sum256([]byte(name))
	copy(id[:], sum[:])
	if !id.IsValid() {
		id[0] = 1
	}
	return id
}

// spanID derives the ID of a span from three values: the ID of the trace, the ID of the start-up, and the key of the
// span. If pods have the same parent span, they share one trace. In a shared trace, the ID of the start-up
// distinguishes the spans of different pods.
func spanID(of trace.TraceID, startup, key string) (id trace.SpanID) {
	sum := sha256.Sum256([]byte("podlapse span " + of.String() + " " + startup + " " + key))
	copy(id[:], sum[:])
	if !id.IsValid() {
		id[0] = 1
	}
	return id
}

// naming holds the values from which generator derives the IDs of the next span.
type naming struct {
	own          trace.TraceID // ID of the trace; used only if the root span has no parent
	startup, key string
}

type namingKey struct{}

func withNaming(ctx context.Context, n naming) context.Context {
	return context.WithValue(ctx, namingKey{}, n)
}

// generator derives IDs from the value of type "naming" in the context. generator implements sdktrace.IDGenerator.
type generator struct{}

// NewIDs returns the IDs of a trace and of its root span.
func (generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	n, _ := ctx.Value(namingKey{}).(naming)
	return n.own, spanID(n.own, n.startup, n.key)
}

// NewSpanID returns the ID of a span in an existing trace.
func (generator) NewSpanID(ctx context.Context, of trace.TraceID) trace.SpanID {
	n, _ := ctx.Value(namingKey{}).(naming)
	return spanID(of, n.startup, n.key)
}
