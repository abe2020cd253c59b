package otlp

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// endKey is the key of the span that covers a pod's whole termination. The span with this key is the parent of all
// other spans of the termination, and a child of the start-up's root span. terminationOf does not return the root span,
// because the root span belongs to the start-up.
const endKey = "termination/"

// terminationOf returns the spans that a pod's termination adds to the trace of its start-up. The first span starts
// with the deletion request and ends when the API server has removed the pod object. The children of the first span are
// the phases of the termination and the stops of the containers.
func terminationOf(t timeline.Timeline) []span {
	end := *t.Termination
	attributes := append(podOf(t),
		attribute.String(keyKind, kindTermination),
		text(keyID, t.ID()),
		text(keyVerdict, end.Verdict()),
		text(keyReason, end.Reason),
		seconds(keyGrace, end.Grace),
		seconds(keyError, end.TotalError),
	)
	attributes = append(attributes, ownerOf(t)...)
	attributes = appendList(attributes, keyMissing, end.Missing)
	if len(end.Conflicts) > 0 {
		attributes = append(attributes, attribute.Int(keyConflicts, len(end.Conflicts)))
	}
	spans := []span{{
		key: endKey, parent: rootKey, name: validText("pod termination " + t.Namespace + "/" + t.Name),
		start: end.RequestedAt, end: end.GoneAt, attributes: withoutEmpty(attributes...),
	}}
	spans = append(spans, layOut(t, end.Phases, endKey)...)
	return limitSpans(append(spans, stopsOf(t)...))
}

// stopsOf returns a span for each container that stopped at a known time after the deletion request.
func stopsOf(t timeline.Timeline) []span {
	var spans []span
	for _, s := range t.Termination.Stops {
		if s.How == timeline.StopBefore || s.StoppedAt.Before(t.Termination.RequestedAt) {
			continue
		}
		attributes := append(podOf(t),
			attribute.String(keyKind, kindStop),
			containerOf(s.Container),
			text(keyHow, string(s.How)),
			text(keyReason, s.Reason),
		)
		if s.Exited {
			attributes = append(attributes, attribute.Int(keyExitCode, s.ExitCode))
		}
		if s.Signal != 0 {
			attributes = append(attributes, attribute.Int(keySignal, s.Signal))
		}
		if s.Timed {
			attributes = append(attributes, seconds(keyGraceUsed, s.Used), seconds(keyError, s.Error))
		}
		attributes = appendList(attributes, keySources, s.Sources)
		stop := span{
			key: endKey + kindStop + "/" + s.Container, parent: endKey, name: validText("stop of " + s.Container),
			start: t.Termination.RequestedAt, end: s.StoppedAt,
		}
		if slices.Contains([]timeline.StopKind{timeline.StopKilled, timeline.StopKilledEarly, timeline.StopOutOfMemory},
			s.How) {
			stop.failure = validText(fmt.Sprintf("%s, exit code %d", s.How, s.ExitCode))
			attributes = append(attributes, text(string(semconv.ErrorTypeKey), string(s.How)))
		}
		stop.attributes = withoutEmpty(attributes...)
		spans = append(spans, stop)
	}
	return spans
}
