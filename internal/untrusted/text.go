package untrusted

import (
	"strings"
	"unicode/utf8"
)

// Limits on texts, in bytes. Valid names and UIDs never exceed these limits.
const (
	MaxName    = 253  // name of an object; the name is a DNS subdomain
	MaxUID     = 128  // UID of an object: 36 bytes from the API server, 32 bytes for a static pod
	maxReason  = 128  // reason of an Event or a status
	MaxMessage = 1024 // message of an Event or a status
)

// Cut shortens a text to at most limit bytes. Cut does not split characters. The text must be valid UTF-8.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// Text returns a text as valid UTF-8 of at most limit bytes. If Text cuts a text, the result does not keep the rest in
// memory.
func Text(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > limit {
		return strings.Clone(Cut(text, limit))
	}
	return text
}

// Name returns the name of an object, a label or a kind, cut to MaxName.
func Name(name string) string { return Text(name, MaxName) }

// Reason returns the reason of an Event or a status, cut to maxReason.
func Reason(reason string) string { return Text(reason, maxReason) }

// ellipsis replaces the middle of a shortened text.
const ellipsis = "…"

// Message converts a message to valid UTF-8 of at most MaxMessage bytes. If a message is longer than MaxMessage,
// Message removes the middle. The beginning and the end are more important, because a message begins with its subject
// and ends with the reason. In the message of a failed pull, the middle only repeats the image reference. If the
// removed text begins inside quotes, Message adds a closing quotation mark. If the removed text ends inside quotes,
// Message also removes the rest of the quoted text.
func Message(message string) string {
	message = strings.ToValidUTF8(message, "\uFFFD")
	if len(message) <= MaxMessage {
		return message
	}
	// The head is long enough for the kubelet's own text and the longest image reference that a registry accepts.
	const head, tail = MaxMessage * 5 / 8, MaxMessage*3/8 - len(ellipsis) - 1
	begins, end := Cut(message, head), len(message)-tail
	for !utf8.RuneStart(message[end]) {
		end++
	}
	ends := message[end:]
	if withinQuotes(message[:end]) {
		_, ends, _ = strings.Cut(ends, `"`)
	}
	if withinQuotes(begins) {
		return begins + ellipsis + `"` + ends
	}
	return begins + ellipsis + ends
}

// withinQuotes reports whether the text ends inside quotes.
func withinQuotes(text string) bool { return strings.Count(text, `"`)%2 != 0 }
