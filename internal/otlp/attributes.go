package otlp

import (
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Attributes that have no name in the semantic conventions. Durations are in seconds, sizes in bytes.
const (
	keyKind         = "podlapse.kind" // kind of the span: one of the constants kind* below
	keyID           = "podlapse.startup.id"
	keyState        = "podlapse.state"
	keyVerdict      = "podlapse.verdict"
	keyRevision     = "podlapse.owner.revision"
	keyOwnerKind    = "podlapse.owner.kind"
	keyOwnerName    = "podlapse.owner.name"
	keyRollout      = "podlapse.rollout.trace_id"
	keyMissing      = "podlapse.missing"
	keyUnreported   = "podlapse.unreported"
	keyLostEvents   = "podlapse.lost_events"
	keyConflicts    = "podlapse.conflicts"
	keySpansLeftOut = "podlapse.spans_left_out"
	keyMessage      = "podlapse.message"
	keyCause        = "podlapse.cause"
	keyAttempt      = "podlapse.attempt" // number of the attempt, from 0
	keyError        = "podlapse.error_seconds"
	keySources      = "podlapse.sources"
	keyMergedWith   = "podlapse.merged_with"
	keyOpen         = "podlapse.open" // true if the span's step was still in progress when the start-up ended
	keyImage        = "podlapse.image"
	keyDigest       = "podlapse.digest"
	keyRegistry     = "podlapse.registry"
	keyOutcome      = "podlapse.outcome"
	keySize         = "podlapse.size_bytes"
	keyBusy         = "podlapse.busy_seconds"
	keyBlockedBy    = "podlapse.blocked_by"
	keyBlockedFor   = "podlapse.blocked_seconds"
	keyLazy         = "podlapse.lazy"
	keyImageLoading = "podlapse.image_loading"
	keyResumed      = "podlapse.resumed"
	keyAhead        = "podlapse.pulls_ahead"
	keyBeside       = "podlapse.pulls_beside"
	keyReason       = "podlapse.reason"
	keyGrace        = "podlapse.grace_seconds"
	keyGraceUsed    = "podlapse.grace_used_seconds"
	keyHow          = "podlapse.how" // how the run of the container ended
	keyExitCode     = "podlapse.exit_code"
	keySignal       = "podlapse.signal"
)

// Attributes that only the start-up of a node has.
const (
	keyPhase         = "podlapse.phase"
	keyTaint         = "podlapse.taint" // key of the taint
	keyTaintOwner    = "podlapse.taint.owner"
	keyCandidates    = "podlapse.candidates"
	keyCritical      = "podlapse.critical"      // true if the node waited for the pod
	keyReconstructed = "podlapse.reconstructed" // true if the start-up was over before the agent saw the Node object
)

// The share of a phase (0 to 1) in which tasks on the node waited for the CPU, for I/O or for memory.
const (
	keyCPUPressure    = "podlapse.pressure.cpu"
	keyIOPressure     = "podlapse.pressure.io"
	keyMemoryPressure = "podlapse.pressure.memory"
)

// Kinds of spans.
const (
	kindStartup   = "startup"
	kindPhase     = "phase"
	kindContainer = "container"
	kindPull      = "pull"
	kindQueue     = "queue"
	kindDownload  = "download"
	kindUnpack    = "unpack"
	kindLayer     = "layer"

	kindTermination = "termination"
	kindStop        = "stop"
	kindRollout     = "rollout"
	kindRun         = "run"
	kindEvent       = "event"

	kindNodeStartup = "node_startup"
	kindNodePhase   = "node_phase"
	kindNodeStep    = "node_step"
	kindNodePod     = "node_pod"
)

// podOf returns the attributes that identify the pod. Every span in a pod's trace has these attributes, so that users
// can search for the spans of a pod.
func podOf(t timeline.Timeline) []attribute.KeyValue {
	return withoutEmpty(
		text(string(semconv.K8SNamespaceNameKey), t.Namespace),
		text(string(semconv.K8SPodNameKey), t.Name),
		text(string(semconv.K8SPodUIDKey), t.UID),
		text(string(semconv.K8SNodeNameKey), t.Node),
	)
}

// containerOf returns the attribute for the name of a container, or for the reference of an image volume.
func containerOf(name string) attribute.KeyValue {
	if ref, ok := strings.CutPrefix(name, timeline.ImageName("")); ok {
		return text(keyImage, ref)
	}
	return text(string(semconv.K8SContainerNameKey), name)
}

// imageOf returns the attributes for an image reference. The semantic conventions define separate attributes for the
// name and the tag.
func imageOf(ref string) []attribute.KeyValue {
	name, _, _ := strings.Cut(ref, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return []attribute.KeyValue{text(string(semconv.ContainerImageNameKey), name[:i]),
			semconv.ContainerImageTags(validText(name[i+1:]))}
	}
	return withoutEmpty(text(string(semconv.ContainerImageNameKey), name))
}

func seconds(key string, d time.Duration) attribute.KeyValue {
	return attribute.Float64(key, d.Seconds())
}

// withoutEmpty omits attributes with empty texts, because an unknown value must be absent.
func withoutEmpty(attributes ...attribute.KeyValue) []attribute.KeyValue {
	return slices.DeleteFunc(attributes, func(a attribute.KeyValue) bool {
		return a.Value.Type() == attribute.STRING && a.Value.AsString() == ""
	})
}
