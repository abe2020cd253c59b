package terminal

import "strings"

// Page is what a text is laid out for.
type Page struct {
	Columns int  // terminal cells
	Fit     bool // tables are shortened to Columns; else they are as wide as what is in them
	Cut     bool // rows that are wider all the same end at Columns: a screen has nowhere to go on
	Color   bool
}

// Wrap is the function of that name for the lines of a clean text, behind an indent of two, where
// the page is to be kept to.
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

// Style is how a text looks where there are colors: the parameters of the control sequence that
// selects it (ECMA-48, SGR). Empty for a plain one.
type Style string

// The styles that say no color.
const (
	Bold Style = "1"
	Dim  Style = "2"
)

// The colors, of the 256 that terminals know: the nearest to those of Okabe and Ito, which the
// color-blind can tell apart, and of a brightness that can be read on black and on white. Nothing
// is said by color alone.
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

// Paint gives a clean text a style, where the page has colors.
func (p Page) Paint(style Style, text string) string {
	if !p.Color || style == "" || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}
