package podwatch

import (
	"strings"
	"unicode/utf8"
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

// omitted stands where something was left out of the middle of a text.
const omitted = "…"

// shorten makes a message valid UTF-8 of at most maxMessage bytes. What is too long loses its middle: it begins with what it is
// about and ends with why, and in between the runtime repeats the image's reference. What is quoted stays quoted.
func shorten(message string) string {
	message = strings.ToValidUTF8(message, "\uFFFD")
	if len(message) <= maxMessage {
		return message
	}
	// The longest reference that a registry takes, and kubelet's words before it, have room in the head.
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

// withinQuotes says that what follows the text is quoted.
func withinQuotes(text string) bool { return strings.Count(text, `"`)%2 != 0 }
