package untrusted

import (
	"strings"
	"unicode/utf8"
)

// Limits on texts, in bytes. A text that is longer than the API allows is invalid.
const (
	MaxName    = 253  // of an object: a DNS subdomain
	MaxUID     = 128  // of an object: the API server's have 36 bytes, those of static pods 32
	maxReason  = 128  // of an Event, and of a status
	MaxMessage = 1024 // of an Event, and of a status
)

// Cut shortens valid UTF-8 text to at most limit bytes without splitting a character.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// Text returns a text of unknown length as valid UTF-8 of at most limit bytes. The rest of a longer
// text does not stay in memory.
func Text(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > limit {
		return strings.Clone(Cut(text, limit))
	}
	return text
}

// Name returns the name of an object, a label or a kind within limits.
func Name(name string) string { return Text(name, MaxName) }

// Reason returns the reason of an Event or a status within limits.
func Reason(reason string) string { return Text(reason, maxReason) }

// omitted replaces the middle of a shortened text.
const omitted = "…"

// Message makes a message valid UTF-8 of at most MaxMessage bytes. A longer message loses its
// middle: it begins with its subject and ends with the reason, and in between the runtime repeats
// the image's reference. Quoted text stays quoted.
func Message(message string) string {
	message = strings.ToValidUTF8(message, "\uFFFD")
	if len(message) <= MaxMessage {
		return message
	}
	// The head has room for the longest reference that a registry accepts and the kubelet's words
	// before it.
	const head, tail = MaxMessage * 5 / 8, MaxMessage*3/8 - len(omitted) - 1
	begins, end := Cut(message, head), len(message)-tail
	for !utf8.RuneStart(message[end]) {
		end++
	}
	ends := message[end:]
	if withinQuotes(message[:end]) {
		_, ends, _ = strings.Cut(ends, `"`)
	}
	if withinQuotes(begins) {
		return begins + omitted + `"` + ends
	}
	return begins + omitted + ends
}

// withinQuotes reports whether the text ends inside quotes.
func withinQuotes(text string) bool { return strings.Count(text, `"`)%2 != 0 }
