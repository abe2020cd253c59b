package otlp

import (
	"cmp"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// rootOf returns the span of the whole start-up, with the kubelet's Events. The span begins with the pod's creation and
// ends when the start-up ends.
func rootOf(t timeline.Timeline) span {
	attributes := append(podOf(t),
		attribute.String(keyKind, kindStartup),
		text(keyID, t.ID()),
		text(keyState, string(t.State)),
		text(keyVerdict, t.Verdict()),
		seconds(keyError, t.TotalError),
	)
	attributes = append(attributes, ownerOf(t)...)
	attributes = appendList(attributes, keyMissing, t.Missing)
	attributes = appendList(attributes, keyUnreported, t.Unreported)
	attributes = appendList(attributes, keyLostEvents, t.LostEvents)
	if len(t.Conflicts) > 0 {
		attributes = append(attributes, attribute.Int(keyConflicts, len(t.Conflicts)))
	}
	root := span{
		key: rootKey, name: validText("pod startup " + t.Namespace + "/" + t.Name), start: t.CreatedAt,
		end:    t.SettledAt,
		events: messageEvents(t),
	}
	if kind, why := failureOf(t); kind != "" {
		root.failure = validText(why)
		attributes = append(attributes, text(string(semconv.ErrorTypeKey), kind))
	}
	root.attributes = withoutEmpty(attributes...)
	return root
}

// failureOf returns the reason why a start-up failed, or why the agent gave up on a start-up. The result "kind" is the
// reason as one word, and "why" is the reason as a text. For all other start-ups, both results are empty.
func failureOf(t timeline.Timeline) (kind, why string) {
	switch t.State {
	case timeline.StateFailed:
		kind, why = cmp.Or(t.Reason, "failed"), cmp.Or(t.Reason, "the pod failed")
	case timeline.StateGivenUp:
		kind, why = cmp.Or(t.Reason, "given_up"),
			cmp.Or(t.Reason, "the pod was not ready an hour after the agent first saw it")
	default:
		return "", ""
	}
	if n := len(t.Pulls); t.Reason == "" && n > 0 && t.Pulls[n-1].Outcome == imagepull.OutcomeFailed {
		why += "; the latest pull of image " + t.Pulls[n-1].Image + " failed: " + string(t.Pulls[n-1].Failure)
	}
	return kind, why
}

// messageEvents returns the kubelet's Events as span events. The attributes of a span event are the reason, the message
// and the container of the Event.
func messageEvents(t timeline.Timeline) []event {
	events := make([]event, 0, len(t.EventMessage))
	for _, s := range t.EventMessage {
		events = append(events, event{name: cmp.Or(validText(s.Reason), "Event"), at: s.At, attributes: withoutEmpty(
			text("k8s.event.reason", s.Reason),
			text(keyMessage, s.Message),
			text(string(semconv.K8SContainerNameKey), s.Container),
		)})
	}
	return events
}
