package sentences

import (
	"slices"
	"strings"
)

// line is a line of running text without markup.
type line struct {
	number int
	text   string
}

// paragraph is a paragraph of running text.
type paragraph struct {
	lines []line
	item  bool // the paragraph is an item of a list
}

// splitAll returns the sentences of consecutive paragraphs. The paragraph that introduces a list precedes the sentences
// of each item.
func splitAll(file string, all []paragraph) []Sentence {
	var sentences []Sentence
	intro := ""
	for _, p := range all {
		if p.item {
			sentences = append(sentences, split(file, intro, p.lines)...)
			continue
		}
		sentences = append(sentences, split(file, "", p.lines)...)
		if len(p.lines) > 0 {
			intro = introOf(p.lines)
		}
	}
	return sentences
}

// introOf returns the text of a paragraph that introduces a list. If the paragraph does not end with a colon, introOf
// returns an empty string.
func introOf(lines []line) string {
	var texts []string
	for _, l := range lines {
		texts = append(texts, strings.TrimSpace(l.text))
	}
	if text := strings.Join(texts, " "); strings.HasSuffix(text, ":") {
		return text
	}
	return ""
}

// split returns the sentences of a paragraph, each with the number of its first line. split omits texts with fewer than
// fewestWords words. The text "intro" precedes the paragraph.
func split(file, intro string, paragraph []line) []Sentence {
	var sentences []Sentence
	var before, words []string
	if intro != "" {
		before = append(before, intro)
	}
	start := 0
	end := func() {
		if len(words) >= fewestWords {
			sentences = append(sentences, Sentence{File: file, Line: start, Before: strings.Join(before, " "),
				Text: strings.Join(words, " ")})
		}
		before, words = append(before, words...), nil
	}
	for _, l := range paragraph {
		for word := range strings.FieldsSeq(l.text) {
			if len(words) == 0 {
				start = l.number
			}
			words = append(words, word)
			if endsSentence(word) {
				end()
			}
		}
	}
	end()
	return sentences
}

// endsSentence reports whether a sentence ends after a word. A sentence ends if the word ends with a full stop, a
// question mark or an exclamation mark, also before closing brackets and quotes. Abbreviations do not end a sentence.
func endsSentence(word string) bool {
	if slices.Contains([]string{"e.g.", "i.e.", "etc.", "vs."}, strings.TrimLeft(word, "(")) {
		return false
	}
	bare := strings.TrimRight(word, "\"')]*_`")
	return len(bare) > 1 && strings.ContainsRune(".!?", rune(bare[len(bare)-1]))
}
