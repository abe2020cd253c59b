package otlp

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// pullsOf returns a span for each pull with a known start. The span starts with the kubelet's request or, if its time
// is unknown, with the start of the pull. The span ends when the image is present, when the pull has failed, or when
// the start-up ends. The children of a pull's span are the wait in the node's queue, the download, the unpacking
// and the layers.
func pullsOf(t timeline.Timeline) []span {
	var spans []span
	for _, p := range t.Pulls {
		pull := pullOf(t, p)
		if pull.start.IsZero() || pull.end.IsZero() || pull.end.Before(pull.start) {
			continue // the image was present, or the times conflict
		}
		spans = append(append(spans, pull), partsOf(t, p, pull.key)...)
	}
	return spans
}

func pullOf(t timeline.Timeline, p timeline.Pull) span {
	attributes := append(podOf(t),
		attribute.String(keyKind, kindPull),
		text(keyImage, p.Image),
		text(keyRegistry, p.Registry),
		text(keyDigest, p.Digest),
		text(keyOutcome, string(p.Outcome)),
		attribute.Int(keyAttempt, p.Attempt),
	)
	if p.Container != timeline.ImageName(p.Image) { // false for an image volume, which has no container
		attributes = append(attributes, containerOf(p.Container))
	}
	attributes = append(attributes, imageOf(p.Image)...)
	attributes = appendList(attributes, keySources, p.Sources)
	if p.Timed {
		attributes = append(attributes, seconds(keyError, p.Error))
	}
	if p.SizeBytes > 0 {
		attributes = append(attributes, attribute.Int64(keySize, p.SizeBytes))
	}
	if p.Lazy {
		attributes = append(attributes, attribute.Bool(keyLazy, true))
	}
	if p.Resumed {
		attributes = append(attributes, attribute.Bool(keyResumed, true))
	}
	if p.Beside > 0 {
		attributes = append(attributes, attribute.Int(keyBeside, p.Beside))
	}
	pull := span{
		key:   kindPull + "/" + p.Container + "/" + strconv.Itoa(p.Attempt),
		name:  validText("image pull of " + p.Container),
		start: p.RequestedAt, end: p.FinishedAt,
	}
	if pull.start.IsZero() {
		pull.start = p.StartedAt
	}
	switch p.Outcome {
	case imagepull.OutcomeFailed:
		pull.failure = validText("pull of " + p.Image + " failed: " + string(p.Failure))
		attributes = append(attributes, text(string(semconv.ErrorTypeKey), string(p.Failure)))
	case imagepull.OutcomePulling:
		if pull.end.IsZero() {
			pull.end = t.SettledAt
			attributes = append(attributes, attribute.Bool(keyOpen, true))
		}
	}
	pull.attributes = withoutEmpty(attributes...)
	return pull
}

// partsOf returns the children of a pull. The runtime reports the end of a layer's download, but not its start. So the
// span of each layer starts when the whole pull starts. The layer's span ends when the layer is unpacked or, if no
// source reports the unpacking, when the layer is downloaded.
func partsOf(t timeline.Timeline, p timeline.Pull, pull string) []span {
	var parts []span
	add := func(kind, key string, start, end time.Time, attributes ...attribute.KeyValue) *span {
		if start.IsZero() || end.IsZero() || end.Before(start) {
			return nil
		}
		attributes = append(append(podOf(t), attribute.String(keyKind, kind)), attributes...)
		parts = append(parts, span{
			key: pull + "/" + key, parent: pull, name: kind, start: start, end: end,
			attributes: withoutEmpty(attributes...),
		})
		return &parts[len(parts)-1]
	}
	if p.QueueTimed {
		add(kindQueue, kindQueue, p.RequestedAt, p.StartedAt, blockerOf(p)...)
	}
	add(kindDownload, kindDownload, p.StartedAt, p.DownloadedAt, attribute.Int64(keySize, p.Bytes()))
	if from, to, busy := p.Unpacking(); busy > 0 {
		add(kindUnpack, kindUnpack, from, to, seconds(keyBusy, busy))
	}
	for _, l := range p.Layers {
		end := l.UnpackedAt
		if l.DownloadedAt.After(end) {
			end = l.DownloadedAt
		}
		layer := add(kindLayer, kindLayer+"/"+l.Digest, p.StartedAt, end, text(keyDigest, l.Digest),
			attribute.Int64(keySize, l.SizeBytes))
		if layer != nil && !l.DownloadedAt.IsZero() {
			layer.events = []event{{name: "downloaded", at: l.DownloadedAt}}
		}
	}
	return parts
}

// blockerOf returns attributes for the span that shows a pull's wait in the node's queue. The attributes say how many
// pulls were ahead in the queue, and which pull of another pod blocked this pull.
func blockerOf(p timeline.Pull) (attributes []attribute.KeyValue) {
	if p.Ahead > 0 {
		attributes = append(attributes, attribute.Int(keyAhead, p.Ahead))
	}
	if b := p.BlockedBy; b != nil {
		attributes = append(attributes, text(keyBlockedBy, b.Namespace+"/"+b.Pod+" "+b.Container+" "+b.Image),
			seconds(keyBlockedFor, b.Waited))
	}
	return attributes
}
