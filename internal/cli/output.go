package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/terminal"
)

// Values of the flag -o for commands that query agents.
const (
	outputTable = "table"
	outputWide  = "wide"
	outputJSON  = "json"
	outputYAML  = "yaml"
	outputName  = "name"
)

// Values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// defaultColumns is the width of output to a file or a pipe, in terminal cells.
const defaultColumns = 110

// output is the format of a command's output.
type output struct {
	format string // one of the values of -o
	color  string
	width  int // width in terminal cells; 0 for the width of the terminal
}

// table returns the flags of the output. The argument "formats" contains the values of -o.
func (o *output) table(formats ...string) flags.Table {
	return flags.Table{
		{
			Name: "o", Alias: "output", Value: strings.Join(formats, "|"), Default: outputTable,
			Help: formatHelp(formats),
			Set:  flags.Choice(&o.format, formats...),
		},
		{
			Name: "color", Value: "auto|always|never", Default: colorAuto,
			Help: "when to print colors. \"auto\": on a terminal. If NO_COLOR has a value, or if TERM is \"dumb\", " +
				"\"auto\" is the same as \"never\"",
			Set: flags.Choice(&o.color, colorAuto, colorAlways, colorNever),
		},
		widthFlag(&o.width),
	}
}

// widthFlag returns the flag for the width of the output. Without the flag, the width keeps its value 0.
func widthFlag(width *int) flags.Flag {
	return flags.Flag{
		Name: "width", Value: "COLUMNS", Set: setWidth(width),
		Help: fmt.Sprintf("preferred width of a line, %d to %d columns. The command shortens or omits columns of "+
			"wider tables, but never shortens a number. The default is the width of the terminal. If the output is "+
			"not a terminal, the command changes no column by default", minWidth, maxWidth),
	}
}

// formatHelp explains the given values of -o.
func formatHelp(formats []string) string {
	help := "output format. \"table\": text. "
	if slices.Contains(formats, outputWide) {
		help += "\"wide\": a table with more columns. "
	}
	help += "\"json\" and \"yaml\": the data of the agent's API"
	if slices.Contains(formats, outputName) {
		help += ". \"name\": only TYPE/NAME"
	}
	return help
}

// Limits of --width in terminal cells. If names have usual lengths, all tables fit into minWidth, except
// the tables of -o wide.
const (
	minWidth = 60
	maxWidth = 1023
)

// setWidth returns a function that parses and stores a number of terminal cells.
func setWidth(target *int) func(string) error {
	return func(value string) error {
		width, err := strconv.Atoi(value)
		if err != nil || width < minWidth || width > maxWidth {
			return fmt.Errorf("invalid width %q: must be %d to %d columns", value, minWidth, maxWidth)
		}
		*target = width
		return nil
	}
}

// page returns the layout for text that a command writes to out.
func (o output) page(out io.Writer, getenv func(string) string) terminal.Page {
	page := terminal.Page{Columns: defaultColumns, Color: o.color == colorAlways}
	file, _ := out.(*os.File)
	if columns, isTerminal := terminal.Width(file); isTerminal {
		page.Columns, page.Fit = columns, true
		page.Color = page.Color || o.color == colorAuto && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	}
	if o.width > 0 {
		page.Columns, page.Fit = o.width, true
	}
	return page
}
