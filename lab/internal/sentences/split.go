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

// split returns the sentences of a paragraph, each with the number of its first line. split omits texts with fewer than
// fewestWords words.
func split(file string, paragraph []line) []Sentence {
	var sentences []Sentence
	var before, words []string
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
