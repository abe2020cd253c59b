package otlp

import (
	"fmt"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// postStartupOf returns what one event after a pod's start-up adds to its trace.
func postStartupOf(t timeline.Timeline, event timeline.PostStartup) []span {
	if event.Run != nil {
		return []span{runOf(t, *event.Run)}
	}
	return []span{eventOf(t, *event.Event)}
}

// runOf returns a run of a container, from when the kubelet says that it began until it ended. If
// it began before the start-up was settled, the span overlaps the start-up's root.
func runOf(t timeline.Timeline, run timeline.CompletedRun) span {
	attributes := append(podOf(t),
		attribute.String(keyKind, kindRun),
		containerOf(run.Container),
		attribute.Int(keyAttempt, run.Attempt),
		attribute.Int(keyExitCode, run.ExitCode),
		text(keyReason, run.Reason),
		attribute.Float64(keyError, 1), // both ends are rounded down to a second
	)
	made := span{
		key: kindRun + "/" + run.Container + "/" + strconv.Itoa(run.Attempt), name: valid("run of " + run.Container),
		start: run.StartedAt, end: run.FinishedAt,
	}
	if run.Signal != 0 {
		attributes = append(attributes, attribute.Int(keySignal, run.Signal))
	}
	if run.ExitCode != 0 {
		made.failure = valid(fmt.Sprintf("exit code %d", run.ExitCode))
		attributes = append(attributes, text(string(semconv.ErrorTypeKey), strconv.Itoa(run.ExitCode)))
	}
	made.attributes = known(attributes...)
	return made
}

// eventOf returns one of the kubelet's Events as a span without a duration, because sent spans
// cannot get more events.
func eventOf(t timeline.Timeline, message timeline.EventMessage) span {
	return span{
		key: strings.Join([]string{kindEvent, message.Container, message.Reason,
			strconv.FormatInt(message.At.UnixNano(), 10)}, "/"),
		name: valid("event " + message.Reason), start: message.At, end: message.At,
		attributes: known(append(podOf(t), attribute.String(keyKind, kindEvent), containerOf(message.Container),
			text(keyReason, message.Reason), text(keyMessage, message.Message))...),
	}
}
