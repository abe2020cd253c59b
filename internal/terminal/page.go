package terminal

import "strings"

// Page is the layout of a text.
type Page struct {
	Columns int  // width of the page in terminal cells
	Fit     bool // whether to shorten tables to Columns; otherwise tables are as wide as their content
	Cut     bool // whether to cut rows that are wider than Columns; for a screen, which cannot wrap rows
	Color   bool
}

// Wrap wraps the lines of a clean text if the field Fit is true. The lines leave room for an indent of two cells.
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

// Paint gives a clean text a style if the page has colors.
func (p Page) Paint(style Style, text string) string {
	if !p.Color || style == "" || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}
