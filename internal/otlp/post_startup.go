package otlp

import (
	"fmt"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// postStartupOf returns the spans for one event that occurred after a pod's start-up. The spans become part of the
// pod's trace.
func postStartupOf(t timeline.Timeline, event timeline.PostStartup) []span {
	if event.Run != nil {
		return []span{runOf(t, *event.Run)}
	}
	return []span{eventSpan(t, *event.Event)}
}

// runOf returns the span of a container's run. The start and end of the span come from the kubelet. If the run started
// before the start-up ended, the span overlaps the root span of the start-up.
func runOf(t timeline.Timeline, run timeline.CompletedRun) span {
	attributes := append(podOf(t),
		attribute.String(keyKind, kindRun),
		containerOf(run.Container),
		attribute.Int(keyAttempt, run.Attempt),
		attribute.Int(keyExitCode, run.ExitCode),
		text(keyReason, run.Reason),
		attribute.Float64(keyError, 1+run.ClockSet.Seconds()), // start and end are rounded down to full seconds
	)
	made := span{
		key:   kindRun + "/" + run.Container + "/" + strconv.Itoa(run.Attempt),
		name:  validText("run of " + run.Container),
		start: run.StartedAt, end: run.FinishedAt,
	}
	if run.Signal != 0 {
		attributes = append(attributes, attribute.Int(keySignal, run.Signal))
	}
	if run.ExitCode != 0 {
		made.failure = validText(fmt.Sprintf("exit code %d", run.ExitCode))
		attributes = append(attributes, text(string(semconv.ErrorTypeKey), strconv.Itoa(run.ExitCode)))
	}
	made.attributes = withoutEmpty(attributes...)
	return made
}

// eventSpan returns a kubelet Event as a span without duration. When the Event arrives, the agent has already sent the
// root span. So the agent cannot add the Event to the root span as a span event.
func eventSpan(t timeline.Timeline, message timeline.EventMessage) span {
	return span{
		key: strings.Join([]string{kindEvent, message.Container, message.Reason,
			strconv.FormatInt(message.At.UnixNano(), 10)}, "/"),
		name: validText("event " + message.Reason), start: message.At, end: message.At,
		attributes: withoutEmpty(append(podOf(t), attribute.String(keyKind, kindEvent), containerOf(message.Container),
			text(keyReason, message.Reason), text(keyMessage, message.Message))...),
	}
}
