package export

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

const columnGap = "  "

// table is text in aligned columns, for a terminal. The first row may be a heading.
type table struct {
	right []bool // by column: aligned to the right
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// widths returns how many terminal cells each column takes.
func (t *table) widths() []int {
	widths := make([]int, len(t.right))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], cells(cell))
		}
	}
	return widths
}

func (t *table) write(out *strings.Builder) {
	widths := t.widths()
	for _, row := range t.rows {
		line := ""
		for i, cell := range row {
			if i > 0 {
				line += columnGap
			}
			padding := strings.Repeat(" ", widths[i]-cells(cell))
			if t.right[i] {
				line += padding + cell
			} else {
				line += cell + padding
			}
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// cells counts the terminal cells of a cleaned text.
func cells(text string) int {
	n := 0
	for _, r := range text {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// clean strips what could move a terminal's cursor, turn its text around or spoil the alignment:
// control and format characters (bidirectional marks among them), odd spaces, combining marks.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || unicode.In(r, unicode.Mn, unicode.Me) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}
