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

// maxLiveAge limits the age of an Event at its arrival. If an Event is at least maxLiveAge old at its arrival, the
// agent does not treat the Event as new. An Event can arrive late because the kubelet queues its Events and limits
// their rate (--event-qps).
const maxLiveAge = 2 * time.Second

// Maximum lengths of texts, in bytes.
const (
	maxEventName     = 270 // a pod's name, a dot and the time in 16 hexadecimal digits (client-go: tools/record)
	maxVersion       = 32  // a resource version; a 64-bit number has at most 20 digits
	maxContainerName = 63  // a DNS label
)

// isOversized reports whether an Event contains an identifier that is too long. The identifiers are texts that identify
// the Event or its pod, for example names and UIDs. Identifiers from the kubelet or the API server are never too long.
// The API server checks the Event's namespace and sets the Event's resource version. The client that creates the Event
// chooses the other identifiers. In core/v1 Events, the API server does not limit the length of texts that the client
// chooses. convertEvent shortens descriptive texts, such as the message, but no identifiers. If the agent shortened
// identifiers, two objects could get the same identity.
func isOversized(event *corev1.Event) bool {
	about := &event.InvolvedObject
	return len(event.Name) > maxEventName || len(event.Namespace) > untrusted.MaxName ||
		len(event.ResourceVersion) > maxVersion ||
		len(about.Name) > untrusted.MaxName || len(about.Namespace) > untrusted.MaxName ||
		len(about.UID) > untrusted.MaxUID || len(event.Source.Host) > untrusted.MaxName
}

// convertEvent converts an Event from the kubelet. The Event arrived through a watch that opened at openedAt. The field
// Live means that the Event is new. Live is true if two conditions are true when the Event arrives. First, the watch
// has been open for at least kubeclient.CatchUp. Second, the Event's latest timestamp is less than maxLiveAge old.
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
		// An Event from the API events.k8s.io has the field EventTime, but no FirstTimestamp. Kubelets up to 1.36 do
		// not use events.k8s.io.
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
// client-go writes the same time, truncated to seconds, into the field firstTimestamp. If firstTimestamp is not in the
// same second as the time in the name, client-go did not create the name, and namedAt returns the zero time.
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

// containerOf returns the container's name from a field path such as spec.containers{name}. The field path can also be
// about an init container or an ephemeral container. A client that can create Events can write any text into the field
// path. containerOf therefore ignores names that are too long for a container.
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
