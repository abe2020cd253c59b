package imagepull

import (
	"strconv"
	"strings"
	"time"
)

// Kind is what a kubelet Event states about an image pull.
type Kind string

// Values of Kind.
const (
	KindOther          Kind = "other"           // another subject, or an unknown message
	KindPulling        Kind = "pulling"         // the kubelet requested the pull; the pull can still wait in the queue
	KindPulled         Kind = "pulled"          // the runtime reported a successful pull
	KindAlreadyPresent Kind = "already_present" // no pull was needed
	// KindPullFailed means that the pull failed. Either the runtime reported a failure, or the kubelet failed before it
	// asked the runtime to pull.
	KindPullFailed Kind = "pull_failed"
	// KindInspectFailed means that the runtime did not tell the kubelet whether the image is on the node. The kubelet
	// has not requested a pull.
	KindInspectFailed Kind = "inspect_failed"
	// KindInvalidName means that the kubelet could not parse the image's name. The kubelet never requests a pull of an
	// image with an invalid name (EnsureImageExists in pkg/kubelet/images).
	KindInvalidName Kind = "invalid_name"
)

// Message holds the facts of one kubelet Event about a pull. A field is zero if the Event does not contain the value. A
// known duration can be zero. So the flag Timed shows whether Pull is known, and WaitingTimed shows whether Waiting is
// known.
type Message struct {
	Kind  Kind
	Image string // the image reference in the kubelet's message
	// Combined is true if the Event represents several different Events. In a combined Event, the text can come from a
	// different Event than the container and the first timestamp.
	Combined bool

	// AccessChecked is true if the image was already on the node (KindAlreadyPresent) and the kubelet checked whether
	// the pod has access to it. By default, kubelets of version 1.35 and later check a pod's access to an image that is
	// on the node.
	AccessChecked bool

	// Pull is the time that the runtime needed for the pull, measured on the kubelet's monotonic clock. Pull is known
	// only if Timed is true. Only kubelet 1.25 and later print Pull.
	Pull  time.Duration
	Timed bool
	// Waiting is the time from the Pulling Event to the runtime's response. Waiting is the sum of the time in the
	// node's pull queue and the duration in the field Pull. Waiting is known only if WaitingTimed is true. Kubelets up
	// to 1.24 print Waiting but not Pull.
	Waiting      time.Duration
	WaitingTimed bool
	// Unit is the resolution to which the kubelet truncated the durations. The true value is at least the printed
	// duration, and less than the printed duration plus Unit. Unit is 1 ms for kubelet 1.28 and later, and 1 ns for
	// earlier kubelets. Unit is zero if the Event contains no duration.
	Unit time.Duration

	Failure Failure // reason for the failure; set only for KindPullFailed

	// SizeBytes is the size of the image, as reported by the runtime. SizeBytes is 0 if the Event contains no size.
	// Kubelet 1.30 and later add the size to the Event.
	SizeBytes int64
}

// CombinedPrefix is at the start of an Event's message if client-go (tools/record) combined several similar Events into
// this Event.
const CombinedPrefix = "(combined from similar events): "

// messagePatterns lists the messages that ParseMessage recognizes. The messages come from
// pkg/kubelet/images/image_manager.go of kubelet 1.20 to 1.36. Each row has the reason, the words before the quoted
// reference, the first words after the reference, and the kind.
var messagePatterns = []struct {
	reason, before, after string
	kind                  Kind
}{
	{"Pulling", "Pulling image ", "", KindPulling},
	{"Pulled", "Successfully pulled image ", "", KindPulled},
	{"Pulled", "Container image ", " already present on machine", KindAlreadyPresent},
	{"Failed", "Failed to pull image ", "", KindPullFailed},
	{"InspectFailed", "Failed to inspect image ", "", KindInspectFailed}, // the reference can be empty
	{"InspectFailed", "Failed to apply default image tag ", "", KindInvalidName},
}

// ParseMessage parses a kubelet Event's reason and message. An unknown message has the kind KindOther.
// ParseMessage omits durations and size if the text does not contain them.
func ParseMessage(reason, message string) Message {
	text, combined := strings.CutPrefix(message, CombinedPrefix)
	for _, s := range messagePatterns {
		if s.reason != reason {
			continue
		}
		quoted, ok := strings.CutPrefix(text, s.before)
		if !ok {
			continue
		}
		image, rest, ok := cutQuoted(quoted)
		if !ok || !strings.HasPrefix(rest, s.after) {
			continue
		}
		m := Message{Kind: s.kind, Image: image, Combined: combined}
		switch s.kind {
		case KindPulled:
			m.readLengths(rest)
		case KindAlreadyPresent:
			m.AccessChecked = strings.HasPrefix(rest, s.after+" and can be accessed by the pod")
		case KindPullFailed:
			m.Failure = ClassifyFailure(s.before + rest)
		}
		return m
	}
	return Message{Kind: KindOther, Combined: combined}
}

// cutQuoted splits a Go-quoted string (%q) from the front of text.
func cutQuoted(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", false
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", false
	}
	value, err = strconv.Unquote(quoted)
	if err != nil {
		return "", "", false
	}
	return value, text[len(quoted):], true
}

// readLengths parses the two durations and the image size at the end of the kubelet's message. Every part except the
// first duration can be missing.
func (m *Message) readLengths(rest string) {
	lengths, size, _ := strings.Cut(rest, ". Image size: ")
	m.SizeBytes = parseSize(size)

	lengths, ok := strings.CutPrefix(lengths, " in ")
	if !ok {
		return
	}
	first, second, both := strings.Cut(lengths, " (")
	pull, ok := parseLength(first)
	if !ok {
		return
	}
	if !both {
		// Kubelets up to 1.24 print only the duration that includes the wait in the queue.
		m.Waiting, m.WaitingTimed, m.Unit = pull, true, unitOf(pull, pull)
		return
	}
	second, ok = strings.CutSuffix(second, " including waiting)")
	if !ok {
		return
	}
	waiting, ok := parseLength(second)
	if !ok || waiting < pull {
		return
	}
	m.Pull, m.Timed = pull, true
	m.Waiting, m.WaitingTimed = waiting, true
	m.Unit = unitOf(pull, waiting)
}

// maxLength is longer than any pull. parseLength rejects longer durations, because the sum of a timestamp and a very
// long duration could overflow.
const maxLength = 365 * 24 * time.Hour

// parseLength parses a Go duration in the kubelet's format. The kubelet's durations are never negative.
func parseLength(text string) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0 && d <= maxLength
}

// unitOf returns 1 ms if both durations are whole milliseconds, because the kubelet probably truncated them. If a
// duration is not whole milliseconds, unitOf returns 1 ns. Without truncation, only one in a million durations is a
// whole number of milliseconds.
func unitOf(a, b time.Duration) time.Duration {
	if a%time.Millisecond == 0 && b%time.Millisecond == 0 {
		return time.Millisecond
	}
	return time.Nanosecond
}

func parseSize(text string) int64 {
	digits, ok := strings.CutSuffix(text, " bytes.")
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
