package otlp

import (
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/podlapse/podlapse/internal/untrusted"
)

const (
	// maxText is the maximum length in bytes of a text that the agent sends. The longest image reference that a
	// registry accepts is shorter than half of maxText. A name has at most 255 bytes, a tag at most 128 bytes, and a
	// digest at most 71 bytes (distribution/reference).
	maxText = 1024
	// maxTexts is the maximum number of texts in a list that the agent sends.
	maxTexts = 128
	// cutMark marks the end of a truncated text.
	cutMark = "…"
)

// validText returns a text that a collector accepts. validText replaces invalid UTF-8, because a collector would
// otherwise refuse the whole request. If a text is longer than maxText, validText cuts the text and adds cutMark.
func validText(text string) string {
	if len(text) > 4*maxText { // limits the work for a very long text
		text = text[:4*maxText] + cutMark
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxText {
		return text
	}
	return untrusted.Cut(text, maxText-len(cutMark)) + cutMark
}

// text returns a text attribute with valid UTF-8 (validText).
func text(key, value string) attribute.KeyValue { return attribute.String(key, validText(value)) }

// appendList adds a list as an attribute if the list is not empty. If the list is longer than maxTexts, the last
// element states the number of omitted texts.
func appendList[S ~string](attributes []attribute.KeyValue, key string, list []S) []attribute.KeyValue {
	if len(list) == 0 {
		return attributes
	}
	var more []string
	if left := len(list) - maxTexts; left > 0 {
		list, more = list[:maxTexts], []string{fmt.Sprintf("%s and %d more", cutMark, left)}
	}
	texts := make([]string, len(list), len(list)+len(more))
	for i, s := range list {
		texts[i] = validText(string(s))
	}
	return append(attributes, attribute.StringSlice(key, slices.Concat(texts, more)))
}

// Sizes of a span and of the span's parts in a request, in bytes. Each size includes IDs, times and the
// overhead of protobuf, but no texts.
const (
	spanBytes      = 160
	eventBytes     = 32
	attributeBytes = 32
)

// sizeBytes returns an upper estimate of the size of a span in a request.
func (s span) sizeBytes() int {
	n := spanBytes + len(s.name) + len(s.failure) + bytesOf(s.attributes)
	for _, e := range s.events {
		n += eventBytes + len(e.name) + bytesOf(e.attributes)
	}
	return n
}

func bytesOf(attributes []attribute.KeyValue) (n int) {
	for _, a := range attributes {
		n += attributeBytes + len(a.Key)
		switch a.Value.Type() {
		case attribute.STRING:
			n += len(a.Value.AsString())
		case attribute.STRINGSLICE:
			for _, s := range a.Value.AsStringSlice() {
				n += attributeBytes + len(s)
			}
		}
	}
	return n
}
