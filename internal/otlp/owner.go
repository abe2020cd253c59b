package otlp

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// ownerKeys are the owners that the semantic conventions know.
var ownerKeys = map[string]attribute.Key{
	"Deployment":            semconv.K8SDeploymentNameKey,
	"ReplicaSet":            semconv.K8SReplicaSetNameKey,
	"ReplicationController": semconv.K8SReplicationControllerNameKey,
	"StatefulSet":           semconv.K8SStatefulSetNameKey,
	"DaemonSet":             semconv.K8SDaemonSetNameKey,
	"Job":                   semconv.K8SJobNameKey,
	"CronJob":               semconv.K8SCronJobNameKey,
}

// ownerOf returns the pod's owner, in the conventions' names where they exist, and its rollout.
func ownerOf(t timeline.Timeline) []attribute.KeyValue {
	if t.Owner.Kind == "" {
		return nil
	}
	attributes := known(
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

// rolloutOf returns the ID that the pods of one version of an owner share: the ID of a trace that is never sent, to
// which each of their traces links. It is invalid for bare pods and for static pods. The owner of a static pod's mirror
// is the node, but the static pods of a node are not a rollout (kubelet: pod/mirror_client.go, CreateMirrorPod).
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

// rolloutSpanOf returns the parent of the traces of a rollout's pods, with --rollout-traces. It is
// as long as the start-up of the first pod that this agent saw. Agents on other nodes send it too,
// with the same ID.
func rolloutSpanOf(t timeline.Timeline) span {
	attributes := append(ownerOf(t), attribute.String(keyKind, kindRollout),
		text(string(semconv.K8SNamespaceNameKey), t.Namespace))
	return span{
		key: rootKey, name: valid("rollout " + t.Namespace + "/" + t.Owner.Kind + "/" + t.Owner.Name),
		start: t.CreatedAt, end: t.SettledAt, attributes: known(attributes...),
	}
}

// withParent makes the trace in the pod's annotation the parent, if it is valid.
func withParent(ctx context.Context, t timeline.Timeline) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": t.TraceParent})
}
