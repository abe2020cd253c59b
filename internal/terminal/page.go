package terminal

import "strings"

// Page is the layout of a text.
type Page struct {
	Columns int  // width of the page in terminal cells
	Fit     bool // true: shorten tables to Columns; false: tables are as wide as their content
	Cut     bool // true: cut rows that are wider than Columns, because a screen cannot wrap rows
	Color   bool
}

// Wrap wraps each line of a clean text (see Clean). The lines leave room for an indent of two cells. If the field Fit
// is false, Wrap does not change the text.
func (p Page) Wrap(text string) string {
	if !p.Fit {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Wrap(line, p.Columns-2)
	}
	return strings.Join(lines, "\n")
}

// Paragraph wraps a clean text (see Clean), and adds a style and a line break to each line. In contrast to Wrap,
// Paragraph also wraps the text if the field Fit is false.
func (p Page) Paragraph(style Style, text string) string {
	var out strings.Builder
	for line := range strings.SplitSeq(Wrap(text, p.Columns), "\n") {
		out.WriteString(p.Paint(style, line) + "\n")
	}
	return out.String()
}

// Style is the style of a text on a page with colors. A Style contains the parameters of the control sequence that
// selects the style (ECMA-48, SGR). An empty Style is plain text.
type Style string

// The styles without color.
const (
	Bold Style = "1"
	Dim  Style = "2"
)

// Colors from the 256-color palette of terminals. The colors are similar to the palette of Okabe and Ito, so
// color-blind people can distinguish the colors. The colors are readable on black and on white. All information is also
// available without color.
const (
	Blue       Style = "38;5;32"
	Orange     Style = "38;5;172"
	Green      Style = "38;5;36"
	Vermillion Style = "38;5;166"
	Purple     Style = "38;5;175"
	Sky        Style = "38;5;74"
	Yellow     Style = "38;5;178"
	Grey       Style = "38;5;244"
)

// Paint adds a style to a clean text (see Clean). If the page has no colors, Paint does not change the text.
func (p Page) Paint(style Style, text string) string {
	if !p.Color || style == "" || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}
