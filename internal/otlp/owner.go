package otlp

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// ownerKeys maps the kinds of owners to their attributes in the semantic conventions.
var ownerKeys = map[string]attribute.Key{
	"Deployment":            semconv.K8SDeploymentNameKey,
	"ReplicaSet":            semconv.K8SReplicaSetNameKey,
	"ReplicationController": semconv.K8SReplicationControllerNameKey,
	"StatefulSet":           semconv.K8SStatefulSetNameKey,
	"DaemonSet":             semconv.K8SDaemonSetNameKey,
	"Job":                   semconv.K8SJobNameKey,
	"CronJob":               semconv.K8SCronJobNameKey,
}

// ownerOf returns the attributes of the pod's owner and its rollout. If the semantic conventions define a name for an
// attribute, ownerOf uses this name.
func ownerOf(t timeline.Timeline) []attribute.KeyValue {
	if t.Owner.Kind == "" {
		return nil
	}
	attributes := withoutEmpty(
		text(keyOwnerKind, t.Owner.Kind),
		text(keyOwnerName, t.Owner.Name),
		text(keyRevision, t.Revision),
	)
	if rollout := rolloutOf(t); rollout.IsValid() {
		attributes = append(attributes, text(keyRollout, rollout.TraceID().String()))
	}
	if key, ok := ownerKeys[t.Owner.Kind]; ok {
		attributes = append(attributes, text(string(key), t.Owner.Name))
	}
	return attributes
}

// rolloutOf returns the span context of a rollout. All pods of the same version of an owner share the span context of
// their rollout. By default, the trace of each pod links to the span context of its rollout, and the agent sends no
// span for the rollout itself. With --rollout-traces, the agent also sends the span of the rollout. The span of the
// rollout is then the parent of each pod's root span, unless an annotation of the pod contains another parent. For pods
// without an owner and for static pods, rolloutOf returns an invalid span context. The owner of all mirror pods on a
// node is the node (kubelet: pod/mirror_client.go, CreateMirrorPod). But the static pods of a node are not a rollout.
func rolloutOf(t timeline.Timeline) trace.SpanContext {
	if t.Owner.Kind == "" || t.Owner.Kind == "Node" {
		return trace.SpanContext{}
	}
	name := "podlapse owner " + t.Namespace + "/" + t.Owner.Kind + "/" + t.Owner.Name
	if t.Revision != "" {
		name += "/" + t.Revision
	}
	of := traceID(name)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: of, SpanID: spanID(of, "", rootKey), Remote: true})
}

// rolloutSpanOf returns the span of a rollout. With --rollout-traces, this span is the parent of the pods' root spans.
// The span has the times of the first start-up that this agent saw in the rollout. Agents on other nodes send a span
// with the same ID, but with other times.
func rolloutSpanOf(t timeline.Timeline) span {
	attributes := append(ownerOf(t), attribute.String(keyKind, kindRollout),
		text(string(semconv.K8SNamespaceNameKey), t.Namespace))
	return span{
		key: rootKey, name: validText("rollout " + t.Namespace + "/" + t.Owner.Kind + "/" + t.Owner.Name),
		start: t.CreatedAt, end: t.SettledAt, attributes: withoutEmpty(attributes...),
	}
}

// withParent adds the trace context from the pod's annotation to ctx. An invalid annotation has no effect.
func withParent(ctx context.Context, t timeline.Timeline) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": t.TraceParent})
}
