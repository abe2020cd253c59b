package otlp

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Attributes that the semantic conventions have no word for. Lengths are in seconds, sizes in bytes.
const (
	keyKind         = "podlapse.kind" // which of the kinds below a span is
	keyID           = "podlapse.startup.id"
	keyState        = "podlapse.state"
	keyVerdict      = "podlapse.verdict"
	keyRevision     = "podlapse.owner.revision"
	keyOwnerKind    = "podlapse.owner.kind"
	keyOwnerName    = "podlapse.owner.name"
	keyRollout      = "podlapse.rollout.trace_id"
	keyMissing      = "podlapse.missing"
	keyLostEvents   = "podlapse.lost_events"
	keyConflicts    = "podlapse.conflicts"
	keySpansLeftOut = "podlapse.spans_left_out"
	keyMessage      = "podlapse.message"
	keyCause        = "podlapse.cause"
	keyAttempt      = "podlapse.attempt" // from 0
	keyError        = "podlapse.error_seconds"
	keySources      = "podlapse.sources"
	keyMergedWith   = "podlapse.merged_with"
	keyOpen         = "podlapse.open" // it went on when the start-up was settled
	keyImage        = "podlapse.image"
	keyDigest       = "podlapse.digest"
	keyRegistry     = "podlapse.registry"
	keyOutcome      = "podlapse.outcome"
	keySize         = "podlapse.size_bytes"
	keyBusy         = "podlapse.busy_seconds"
	keyBlockedBy    = "podlapse.blocked_by"
	keyBlockedFor   = "podlapse.blocked_seconds"
)

// The node's pressure during a phase, as shares of it from 0 to 1.
const (
	keyCPUPressure    = "podlapse.pressure.cpu"
	keyIOPressure     = "podlapse.pressure.io"
	keyMemoryPressure = "podlapse.pressure.memory"
)

// The kinds of span.
const (
	kindStartup   = "startup"
	kindPhase     = "phase"
	kindContainer = "container"
	kindPull      = "pull"
	kindQueue     = "queue"
	kindDownload  = "download"
	kindUnpack    = "unpack"
	kindLayer     = "layer"
)

// podOf is on every span, so that each is found by its pod.
func podOf(t timeline.Timeline) []attribute.KeyValue {
	return known(
		text(string(semconv.K8SNamespaceNameKey), t.Namespace),
		text(string(semconv.K8SPodNameKey), t.Name),
		text(string(semconv.K8SPodUIDKey), t.UID),
		text(string(semconv.K8SNodeNameKey), t.Node),
	)
}

// containerOf names a container, or the image that goes by the name of one.
func containerOf(name string) attribute.KeyValue {
	if ref, ok := strings.CutPrefix(name, timeline.ImageName("")); ok {
		return text(keyImage, ref)
	}
	return text(string(semconv.K8SContainerNameKey), name)
}

// imageOf is an image reference as the conventions have it: the name, and the tag apart.
func imageOf(ref string) []attribute.KeyValue {
	name, _, _ := strings.Cut(valid(ref), "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return []attribute.KeyValue{semconv.ContainerImageName(name[:i]), semconv.ContainerImageTags(name[i+1:])}
	}
	return known(text(string(semconv.ContainerImageNameKey), name))
}

// text is an attribute in valid UTF-8: a collector refuses all that comes with one that is not.
func text(key, value string) attribute.KeyValue { return attribute.String(key, valid(value)) }

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func seconds(key string, d time.Duration) attribute.KeyValue {
	return attribute.Float64(key, d.Seconds())
}

// appendList adds a list that is not empty.
func appendList[S ~string](attributes []attribute.KeyValue, key string, list []S) []attribute.KeyValue {
	if len(list) == 0 {
		return attributes
	}
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = valid(string(s))
	}
	return append(attributes, attribute.StringSlice(key, texts))
}

// known leaves out texts that are empty: what is unknown is absent.
func known(attributes ...attribute.KeyValue) []attribute.KeyValue {
	kept := attributes[:0]
	for _, a := range attributes {
		if a.Value.Type() != attribute.STRING || a.Value.AsString() != "" {
			kept = append(kept, a)
		}
	}
	return kept
}
