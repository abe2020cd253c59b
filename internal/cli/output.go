package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/terminal"
)

// The values of -o of the commands that ask.
const (
	outputTable = "table"
	outputYAML  = "yaml"
)

// The values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// defaultColumns is how wide a page is that goes to no terminal.
const defaultColumns = 110

// output is how answers are printed.
type output struct {
	format string // outputTable, outputJSON or outputYAML
	color  string
	width  int // terminal cells; 0 for as many as there are
}

func (o *output) table() flags.Table {
	return flags.Table{
		{
			Name: "o", Alias: "output", Value: "table|json|yaml", Default: outputTable,
			Help: "output format: table, text for people; json or yaml, the API's response",
			Set:  flags.Choice(&o.format, outputTable, outputJSON, outputYAML),
		},
		{
			Name: "color", Value: "auto|always|never", Default: colorAuto,
			Help: "whether to use colors; auto uses them on a terminal unless NO_COLOR is set",
			Set:  flags.Choice(&o.color, colorAuto, colorAlways, colorNever),
		},
		{
			Name: "width", Value: "COLUMNS", Help: "width of the output, 1 to 1023; if unset, the terminal's width, " +
				"or 110 without a terminal",
			Set: func(value string) error {
				if value == "" {
					return nil
				}
				return setWidth(&o.width)(value)
			},
		},
	}
}

// setWidth reads a number of terminal cells.
func setWidth(target *int) func(string) error {
	return func(value string) error {
		width, err := strconv.ParseUint(value, 10, 10)
		if err != nil || width == 0 {
			return fmt.Errorf("invalid width %q: must be 1 to 1023 columns", value)
		}
		*target = int(width)
		return nil
	}
}

// page is what text on a writer is laid out for.
func (o output) page(out io.Writer, getenv func(string) string) terminal.Page {
	page := terminal.Page{Columns: defaultColumns, Color: o.color == colorAlways}
	file, _ := out.(*os.File)
	if columns, isTerminal := terminal.Width(file); isTerminal {
		page.Columns, page.Fit = columns, true
		page.Color = page.Color || o.color == colorAuto && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	}
	if o.width > 0 {
		page.Columns = o.width
	}
	return page
}

// text is an answer as it is printed.
func (o output) text(answer any, table func() string) (string, error) {
	switch o.format {
	case outputJSON:
		return terminal.JSON(answer)
	case outputYAML:
		return terminal.YAML(answer)
	}
	return table(), nil
}
