package terminal

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// MaxText is the maximum length of an untrusted text in the output, in bytes. A message from the kubelet can be a
// megabyte long.
const MaxText = 4 << 10

// ellipsis replaces the removed part of a text.
const ellipsis = "…"

// Printable returns true if a character is visible and has no effect on other characters. Printable returns false for
// control and format characters, bidirectional marks, unusual spaces, combining marks, and invisible letters such as
// U+3164.
func Printable(r rune) bool {
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Mn, unicode.Me, unicode.Other_Default_Ignorable_Code_Point)
}

// Clean makes an untrusted text printable on one line. Clean removes every character for which Printable returns false,
// and cuts the text at MaxText.
func Clean(text string) string {
	cut := len(text) > MaxText
	if cut {
		text = text[:MaxText]
	}
	text = strings.Map(func(r rune) rune {
		if !Printable(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if cut {
		text += ellipsis
	}
	return text
}

// CleanLines cleans each line of a text in the same way as Clean. CleanLines keeps at most atMost lines.
func CleanLines(text string, atMost int) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if len(lines) == atMost {
			lines = append(lines, ellipsis)
			break
		}
		lines = append(lines, Clean(line))
	}
	return strings.Join(lines, "\n")
}

// Cells returns the number of terminal cells that a clean text occupies.
func Cells(text string) int {
	n := 0
	for _, r := range text {
		n += cellsOf(r)
	}
	return n
}

func cellsOf(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Clip shortens a clean text to a number of cells, with an ellipsis at its end.
func Clip(text string, cells int) string {
	if Cells(text) <= cells {
		return text
	}
	used := 0
	for i, r := range text {
		if used += cellsOf(r); used >= cells { // the ellipsis needs one cell
			if cells < 1 {
				return ""
			}
			return text[:i] + ellipsis
		}
	}
	return text
}

// ClipStart shortens a clean text to a number of cells, with an ellipsis at the beginning of the text. Use ClipStart
// for names that differ most at the end, such as names of pods.
func ClipStart(text string, cells int) string {
	left := Cells(text)
	if left <= cells {
		return text
	}
	for i, r := range text {
		if left < cells {
			return ellipsis + text[i:]
		}
		left -= cellsOf(r)
	}
	if cells < 1 {
		return ""
	}
	return ellipsis
}

// ClipMiddle shortens a clean text to a number of cells, with an ellipsis in the middle of the text. Use ClipMiddle for
// names that can differ at both ends, such as names of nodes.
func ClipMiddle(text string, cells int) string {
	if Cells(text) <= cells {
		return text
	}
	if cells < 1 {
		return ""
	}
	end := ClipStart(text, cells/2+1) // end begins with the ellipsis
	return strings.TrimSuffix(Clip(text, cells-Cells(end)+1), ellipsis) + end
}

// maxName is the maximum width of a name in an error message, in terminal cells. Names are usually much shorter. A
// longer text is often not a name, for example the output of another command.
const maxName = 100

// ShortName shortens a name for an error message, with an ellipsis in the middle of the name.
func ShortName(name string) string { return ClipMiddle(name, maxName) }

// Wrap breaks a clean text between words, so that each line fits into the columns. Wrap does not break the text between
// a number and its unit. If a word is longer than a line, Wrap breaks the word at the end of the line. Wrap indents all
// lines except the first line.
func Wrap(text string, columns int) string {
	const indent = "  "
	columns = max(columns, 20)
	var out strings.Builder
	used := 0
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		word := words[i]
		if i+1 < len(words) && isQuantity(word, words[i+1]) {
			i++
			word += " " + words[i]
		}
		switch {
		case used == 0:
		case used+1+Cells(word) > columns:
			out.WriteString("\n" + indent)
			used = len(indent)
		default:
			out.WriteString(" ")
			used++
		}
		for _, r := range word {
			if used+cellsOf(r) > columns {
				out.WriteString("\n" + indent)
				used = len(indent)
			}
			out.WriteRune(r)
			used += cellsOf(r)
		}
	}
	return out.String()
}

// isQuantity reports whether two words are a number and its unit, as in "7.7 MiB/s," or "±0.9 s".
func isQuantity(number, unit string) bool {
	switch strings.TrimRight(unit, ".,:;)") {
	case "s", "%", "B", "KiB", "MiB", "GiB", "KiB/s", "MiB/s", "GiB/s":
		return unicode.IsDigit(rune(number[len(number)-1]))
	}
	return false
}
