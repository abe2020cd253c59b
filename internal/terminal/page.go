package terminal

import "strings"

// Page is the layout of a text.
type Page struct {
	Columns int  // terminal cells
	Fit     bool // shorten tables to Columns; without Fit, tables are as wide as their content
	Cut     bool // cut longer rows at Columns, because a screen cannot wrap rows
	Color   bool
}

// Wrap wraps the lines of a clean text that is indented by two, if tables of the page must fit its width.
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

// Style is how a text looks on a page with colors: the parameters of the control sequence that
// selects it (ECMA-48, SGR). Empty for plain text.
type Style string

// The styles without color.
const (
	Bold Style = "1"
	Dim  Style = "2"
)

// Colors from the 256-color palette of terminals. The colors are close to the palette of Okabe and Ito, which
// color-blind people can distinguish. The colors are readable on black and on white. Color alone never conveys
// information.
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

// Paint gives a clean text a style, if the page has colors.
func (p Page) Paint(style Style, text string) string {
	if !p.Color || style == "" || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}
