package imagepull

import (
	"strconv"
	"strings"
	"time"
)

// Kind is what a kubelet Event says about an image pull.
type Kind string

// Values of Kind.
const (
	KindOther          Kind = "other"           // not about a pull, or not understood
	KindPulling        Kind = "pulling"         // the pull was requested; it may have to queue
	KindPulled         Kind = "pulled"          // the runtime responded that it has the image
	KindAlreadyPresent Kind = "already_present" // no pull was needed
	KindPullFailed     Kind = "pull_failed"     // the runtime gave up, or the kubelet did before it sent the request
	// the runtime did not say whether it has the image; no pull was requested
	KindInspectFailed Kind = "inspect_failed"
)

// Message is what one kubelet Event says about a pull. The zero time.Duration means absent, unless
// the field's own flag says otherwise.
type Message struct {
	Kind  Kind
	Image string // as the kubelet wrote it: the reference in the container's spec
	// Combined says that the Event stands for several different Events: its container and first timestamp may belong to
	// another occurrence than its text.
	Combined bool

	// Pull is how long the runtime took, on the kubelet's monotonic clock; known if Timed (kubelet
	// ≥ 1.25).
	Pull  time.Duration
	Timed bool
	// Waiting lasts from right after the Pulling Event to the runtime's response, so it includes
	// the node's pull queue and Pull; known if WaitingTimed. A kubelet ≤ 1.24 prints only this
	// duration.
	Waiting      time.Duration
	WaitingTimed bool
	// Unit is the resolution to which the kubelet cut the durations: the true value is in [length,
	// length+Unit). It is 1 ms since 1.28 and 1 ns before; zero without a duration.
	Unit time.Duration

	Failure Failure // why, for KindPullFailed

	// SizeBytes is the image's size as the runtime counts it (kubelet ≥ 1.30); 0 if absent.
	SizeBytes int64
}

// CombinedPrefix is the prefix that client-go adds to an Event that combines several similar ones (tools/record).
const CombinedPrefix = "(combined from similar events): "

// sentences are the kubelet's messages, from pkg/kubelet/images/image_manager.go of 1.20 to 1.36:
// the reason, the words before the quoted reference, the beginning of the words after it, and the
// kind.
var sentences = []struct {
	reason, before, after string
	kind                  Kind
}{
	{"Pulling", "Pulling image ", "", KindPulling},
	{"Pulled", "Successfully pulled image ", "", KindPulled},
	{"Pulled", "Container image ", " already present on machine", KindAlreadyPresent},
	{"Failed", "Failed to pull image ", "", KindPullFailed},
	{"InspectFailed", "Failed to inspect image ", "", KindInspectFailed}, // the reference may be empty
	{"InspectFailed", "Failed to apply default image tag ", "", KindPullFailed},
}

// ParseMessage parses a kubelet Event's reason and message. A message that it does not understand
// is KindOther. Durations and size are omitted if the text does not contain them.
func ParseMessage(reason, message string) Message {
	text, combined := strings.CutPrefix(message, CombinedPrefix)
	for _, s := range sentences {
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
		case KindPullFailed:
			m.Failure = ClassifyFailure(s.before + rest)
		}
		return m
	}
	return Message{Kind: KindOther, Combined: combined}
}

// cutQuoted splits a Go-quoted string (%q) off the front of text.
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

// readLengths parses ` in D (D including waiting). Image size: N bytes.`, where every part except the first may be
// missing.
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
		// A kubelet ≤ 1.24 starts this clock before the queue.
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

// maxLength is longer than any pull. With impossible values, sums of timestamps and durations would
// overflow.
const maxLength = 365 * 24 * time.Hour

// parseLength parses a Go duration as the kubelet prints it, which is never negative.
func parseLength(text string) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0 && d <= maxLength
}

// unitOf distinguishes kubelets that cut durations to milliseconds from others. Only one in a million durations of the
// others looks cut.
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
