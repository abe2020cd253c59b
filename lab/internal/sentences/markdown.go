package sentences

import (
	"regexp"
	"strings"
)

// item matches the markers of list items and quotations. After each marker, a new paragraph starts.
var item = regexp.MustCompile(`^(?:[-*+>]|\d+\.) +`)

// markdown returns the sentences in the running text of a Markdown file. markdown skips code blocks, tables, headings,
// HTML and link definitions.
func markdown(file, text string) []Sentence {
	var all []paragraph
	var current paragraph
	end := func() {
		all = append(all, current)
		current = paragraph{}
	}
	fence := "" // marker that ends the current code block; empty outside of code blocks
	number := 0
	for raw := range strings.Lines(text) {
		number++
		bare := strings.TrimSpace(raw)
		switch {
		case fence != "":
			if strings.HasPrefix(bare, fence) {
				fence = ""
			}
		case strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~"):
			end()
			fence = bare[:3]
		case bare == "" || isMarkup(bare):
			end()
		default:
			if prefix := item.FindString(bare); prefix != "" {
				end()
				bare, current.item = bare[len(prefix):], true
			}
			current.lines = append(current.lines, line{number, bare})
		}
	}
	end()
	return splitAll(file, all)
}

func isMarkup(text string) bool {
	return strings.HasPrefix(text, "#") || strings.HasPrefix(text, "|") || strings.HasPrefix(text, "<") ||
		strings.HasPrefix(text, "[") && strings.Contains(text, "]: ") || strings.HasPrefix(text, "![")
}
