package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxMessages and maxMessageBytes limit the texts of Events that the evidence keeps for one pod. A start-up without
// problems has about ten Events. In a start-up with a problem, the first Events describe the problem.
const (
	maxMessages     = 32
	maxMessageBytes = 256
)

// EventMessage is the text of a kubelet Event about the pod. If an Event repeats, the timeline contains its text only
// once.
type EventMessage struct {
	// At is the time of the Event's first occurrence, measured by the kubelet's clock. At is exact if the Event's name
	// contains the time. If the name does not contain the time, At is truncated to seconds.
	At        time.Time
	Container string // empty for Events about the whole pod
	Reason    string // e.g. FailedMount
	Message   string // valid UTF-8, at most 256 bytes
}

func (s EventMessage) compare(o EventMessage) int {
	return cmp.Or(s.At.Compare(o.At), cmp.Compare(s.Container, o.Container), cmp.Compare(s.Reason, o.Reason),
		cmp.Compare(s.Message, o.Message))
}

func messageOf(o EventSeen) EventMessage {
	s := EventMessage{At: o.NamedAt, Container: o.Container, Reason: cutText(o.Reason), Message: cutText(o.Message)}
	if s.At.IsZero() {
		s.At = o.FirstAt
	}
	s.At = s.At.Round(0).UTC()
	return s
}

// keepMessage keeps the texts of the earliest Events, at most maxMessages. The order of arrival does not matter.
func (e *Evidence) keepMessage(o EventSeen) {
	s := messageOf(o)
	i, found := slices.BinarySearchFunc(e.messages, s, EventMessage.compare)
	if found || i == maxMessages {
		return
	}
	// A short text can be part of a longer string. Without a clone, the longer string would stay in memory.
	s.Container, s.Reason, s.Message = strings.Clone(s.Container), strings.Clone(s.Reason), strings.Clone(s.Message)
	longer := slices.Insert(e.messages, i, s)
	e.messages, e.changed = longer[:min(len(longer), maxMessages)], true
}

// messagesUntil returns the texts of the Events up to the time "end".
func (e *Evidence) messagesUntil(end time.Time) []EventMessage {
	after, _ := slices.BinarySearchFunc(e.messages, end, func(s EventMessage, end time.Time) int {
		if s.At.After(end) {
			return 1
		}
		return -1
	})
	return slices.Clone(e.messages[:after])
}

// cutText converts text to valid UTF-8 and limits its length to maxMessageBytes bytes.
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
