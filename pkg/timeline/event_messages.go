package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds on what is kept of the kubelet's words about one pod. A start-up without trouble has some ten Events;
// in one with trouble the first ones tell what it was.
const (
	maxMessages     = 32
	maxMessageBytes = 256 // bytes
)

// Said is one thing that the kubelet said of the pod, in its own words: an Event, once however often it repeats.
type Said struct {
	// At is when the kubelet said it first, the kubelet's clock: exact where the Event's name tells, else floored to a second.
	At        time.Time
	Container string // empty for what is about the whole pod
	Reason    string // e.g. FailedMount
	Message   string // valid UTF-8, cut at 256 bytes
}

func (s Said) compare(o Said) int {
	return cmp.Or(s.At.Compare(o.At), cmp.Compare(s.Container, o.Container), cmp.Compare(s.Reason, o.Reason),
		cmp.Compare(s.Message, o.Message))
}

// messageOf is what an Event says.
func messageOf(o EventSeen) Said {
	s := Said{At: o.NamedAt, Container: o.Container, Reason: cutText(o.Reason), Message: cutText(o.Message)}
	if s.At.IsZero() {
		s.At = o.FirstAt
	}
	s.At = s.At.Round(0).UTC()
	return s
}

// keepMessage keeps the earliest of all that the kubelet said: what came first stays, in whatever order it is told.
func (e *Evidence) keepMessage(o EventSeen) {
	s := messageOf(o)
	i, found := slices.BinarySearchFunc(e.messages, s, Said.compare)
	if found || i == maxMessages {
		return
	}
	// The texts may be parts of long ones, which would stay in memory for their sake.
	s.Container, s.Reason, s.Message = strings.Clone(s.Container), strings.Clone(s.Reason), strings.Clone(s.Message)
	longer := slices.Insert(e.messages, i, s)
	e.messages, e.changed = longer[:min(len(longer), maxMessages)], true
}

// messagesUntil is what the kubelet had said when start-up ended.
func (e *Evidence) messagesUntil(end time.Time) []Said {
	after, _ := slices.BinarySearchFunc(e.messages, end, func(s Said, end time.Time) int {
		if s.At.After(end) {
			return 1
		}
		return -1
	})
	return slices.Clone(e.messages[:after])
}

// cutText makes a text valid UTF-8 of at most maxSaidMessage bytes.
func cutText(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxMessageBytes {
		return text
	}
	end := maxMessageBytes
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
