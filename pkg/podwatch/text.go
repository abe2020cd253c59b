package podwatch

import (
	"strings"
	"unicode/utf8"
)

// Limits on texts that others may make as long as an object may be, in bytes. A text that is longer
// than the API or any registry allows is cut: it is not what it claims to be.
const (
	maxContainerName = 63   // a DNS label
	maxName          = 253  // of an object: a DNS subdomain
	maxUID           = 128  // of an object: the API server's have 36 bytes, those of static pods 32
	maxEventName     = 270  // a pod's name, a dot and the time in 16 hexadecimal digits (client-go: tools/record)
	maxVersion       = 32   // of an object: a 64-bit number has 20 digits
	maxReason        = 128  // of an Event, and of a status
	maxReference     = 1024 // of an image: repository, tag and digest come to some 500
	maxLabels        = 16 << 10
	maxConditions    = 64
)

// cut shortens valid UTF-8 text to at most limit bytes without splitting a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// bounded returns a text of unknown length as valid UTF-8 of at most limit bytes. The rest of a
// longer text does not stay in memory.
func bounded(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > limit {
		return strings.Clone(cut(text, limit))
	}
	return text
}

// omitted replaces the middle of a shortened text.
const omitted = "…"

// shorten makes a message valid UTF-8 of at most maxMessage bytes. A longer message loses its
// middle: it begins with its subject and ends with the reason, and in between the runtime repeats
// the image's reference. Quoted text stays quoted.
func shorten(message string) string {
	message = strings.ToValidUTF8(message, "\uFFFD")
	if len(message) <= maxMessage {
		return message
	}
	// The head has room for the longest reference that a registry accepts and the kubelet's words
	// before it.
	const head, tail = maxMessage * 5 / 8, maxMessage*3/8 - len(omitted) - 1
	begins, end := cut(message, head), len(message)-tail
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
