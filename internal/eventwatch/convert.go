package eventwatch

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/redact"
	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxLiveAge is the age from which an arriving Event no longer counts as new. An Event can arrive late because the
// kubelet queues its Events and limits their rate (--event-qps).
const maxLiveAge = 2 * time.Second

// Limits on texts, in bytes.
const (
	maxEventName     = 270 // a pod's name, a dot and the time in 16 hexadecimal digits (client-go: tools/record)
	maxVersion       = 32  // a resource version; a 64-bit number has at most 20 digits
	maxContainerName = 63  // a DNS label
)

// isOversized reports whether a text that identifies an Event or its pod is too long to come from the kubelet or the
// API server. The API server checks the Event's namespace and sets the Event's resource version. The client that
// creates the Event chooses every other text that isOversized checks. In core/v1 Events, the API server does not limit
// the length of texts that the client chooses. convertEvent shortens only descriptive texts. If the agent shortened an
// identifying text, two objects could get the same identity.
func isOversized(event *corev1.Event) bool {
	about := &event.InvolvedObject
	return len(event.Name) > maxEventName || len(event.Namespace) > untrusted.MaxName ||
		len(event.ResourceVersion) > maxVersion ||
		len(about.Name) > untrusted.MaxName || len(about.Namespace) > untrusted.MaxName ||
		len(about.UID) > untrusted.MaxUID || len(event.Source.Host) > untrusted.MaxName
}

// convertEvent converts a kubelet Event that arrived through a watch opened at openedAt. The field Live is true if the
// watch had been open for at least kubeclient.CatchUp when the Event arrived, and if the Event's latest timestamp was
// less than maxLiveAge old.
func convertEvent(event *corev1.Event, uid string, openedAt, arrivedAt time.Time) timeline.EventSeen {
	seen := timeline.EventSeen{
		UID:       uid,
		ArrivedAt: arrivedAt,
		Container: containerOf(event.InvolvedObject.FieldPath),
		Reason:    untrusted.Reason(event.Reason),
		Message:   untrusted.Message(redact.Message(event.Reason, event.Message)),
		FirstAt:   untrusted.Time(event.FirstTimestamp),
		LastAt:    untrusted.Time(event.LastTimestamp),
		StoredAt:  untrusted.Time(event.CreationTimestamp),
		Count:     max(1, int(event.Count)),
	}
	if seen.FirstAt.IsZero() {
		// An Event that was created through the API events.k8s.io has EventTime but no FirstTimestamp. Kubelets up to
		// 1.36 do not use events.k8s.io.
		seen.FirstAt = untrusted.Time(metav1.Time(event.EventTime)).Truncate(time.Second)
	}
	if seen.LastAt.Before(seen.FirstAt) {
		seen.LastAt = seen.FirstAt
	}
	seen.NamedAt = namedAt(event.Name, seen.FirstAt)

	latest := seen.LastAt
	if seen.NamedAt.After(latest) {
		latest = seen.NamedAt
	}
	seen.Live = arrivedAt.Sub(openedAt) >= kubeclient.CatchUp && arrivedAt.Sub(latest) < maxLiveAge
	return seen
}

// namedAt parses the time in the name of an Event. client-go (tools/record) names Events <object>.<hex UnixNano>.
// client-go also writes the time in the name, truncated to seconds, into the field firstTimestamp. If firstTimestamp
// and the time in the name are not in the same second, client-go did not create the name.
func namedAt(name string, firstAt time.Time) time.Time {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 || firstAt.IsZero() {
		return time.Time{}
	}
	nanos, err := strconv.ParseInt(name[dot+1:], 16, 64)
	if err != nil || nanos <= 0 {
		return time.Time{}
	}
	at := time.Unix(0, nanos).UTC()
	if !at.Truncate(time.Second).Equal(firstAt.Truncate(time.Second)) {
		return time.Time{}
	}
	return at
}

// containerOf parses spec.containers{name}, and the same form for init and ephemeral containers. A client that can
// create Events can write any text in the field path, so containerOf ignores names that are too long for a container.
func containerOf(fieldPath string) string {
	list, rest, ok := strings.Cut(fieldPath, "{")
	if !ok {
		return ""
	}
	switch list {
	case "spec.containers", "spec.initContainers", "spec.ephemeralContainers":
	default:
		return ""
	}
	name, ok := strings.CutSuffix(rest, "}")
	if !ok || len(name) > maxContainerName {
		return ""
	}
	return name
}
