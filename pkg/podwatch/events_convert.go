package podwatch

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/redact"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// maxMessage is what is kept of a message, in bytes.
	maxMessage = 1024
	// maxLiveAge is how old an Event may be on arrival to count as just happened: kubelet sends Events
	// from a queue, at --event-qps.
	maxLiveAge = 2 * time.Second
)

// oversized says that what tells an Event and its pod from others is longer than kubelet and the API server make it.
// All but the namespace is chosen by whoever creates the Event, and core/v1 Events are not validated for length.
// Cutting such a text would take one thing for another; what merely describes is cut by convertEvent.
func oversized(event *corev1.Event) bool {
	about := &event.InvolvedObject
	return len(event.Name) > maxEventName || len(event.Namespace) > maxName ||
		len(event.ResourceVersion) > maxVersion ||
		len(about.Name) > maxName || len(about.Namespace) > maxName || len(about.UID) > maxUID ||
		len(event.Source.Host) > maxName
}

// convertEvent reads a kubelet Event that arrived through a watch opened at openedAt. It is live when
// it came after the burst with which a watch begins, and its stamps do not contradict that.
func convertEvent(event *corev1.Event, uid string, openedAt, arrivedAt time.Time) timeline.EventSeen {
	seen := timeline.EventSeen{
		UID:       uid,
		ArrivedAt: arrivedAt,
		Container: containerOf(event.InvolvedObject.FieldPath),
		Reason:    bounded(event.Reason, maxReason),
		Message:   shorten(redact.Message(event.Reason, event.Message)),
		FirstAt:   instant(event.FirstTimestamp),
		LastAt:    instant(event.LastTimestamp),
		StoredAt:  instant(event.CreationTimestamp),
		Count:     max(1, int(event.Count)),
	}
	if seen.FirstAt.IsZero() {
		// The events.k8s.io form; kubelet does not use it up to 1.36.
		seen.FirstAt = instant(metav1.Time(event.EventTime)).Truncate(time.Second)
	}
	if seen.LastAt.Before(seen.FirstAt) {
		seen.LastAt = seen.FirstAt
	}
	seen.NamedAt = namedAt(event.Name, seen.FirstAt)

	latest := seen.LastAt
	if seen.NamedAt.After(latest) {
		latest = seen.NamedAt
	}
	seen.Live = arrivedAt.Sub(openedAt) >= catchUp && arrivedAt.Sub(latest) < maxLiveAge
	return seen
}

// namedAt reads <object>.<hex UnixNano>, the name that client-go (tools/record) gives an Event. The
// same reading of the clock is stored, cut to seconds, as the first occurrence; a name that
// disagrees was made otherwise.
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

// containerOf reads spec.containers{name}, and the same of init and ephemeral containers. Whoever
// may create Events may write there what they like; a name that no container can have is none.
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
