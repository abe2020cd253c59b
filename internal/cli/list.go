package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/terminal"
)

// column is a column of a list.
type column[T any] struct {
	title string
	wide  bool // only -o wide shows the column
	right bool
	// shorten makes the text of a cell fit on a narrow terminal. If the column must not be shortened, shorten is nil.
	shorten func(text string, cells int) string
	// optional is true if a table can omit the column. A table omits the column if the terminal is too narrow even for
	// shortened columns.
	optional bool
	cell     func(T) string
	style    func(T) terminal.Style // nil for plain text
}

// order is a value of --sort-by, with the function that compares two items.
type order[T any] struct {
	name    string
	compare func(x, y T) int
}

// view describes how a command prints a list of items. The functions that return the text of cells must pass untrusted
// text to terminal.Clean.
type view[T any] struct {
	columns []column[T]
	orders  []order[T]
	// resource returns the resource of the item in the form TYPE/NAME, for -o name. For an item without a resource, the
	// name is empty.
	resource func(T) (namespace, name string)
	object   func(T) any   // data of the item, for -o json and -o yaml
	whole    func([]T) any // data of all items in one object, for -o json and -o yaml without -w
	empty    string        // text instead of an empty table
	// With -w, the command compares the results of two queries. The function "id" identifies the same item in both
	// results. If the result of the function "state" has changed for an item, the command prints the item's row again.
	// The state must not contain durations that grow with time, because they would make the command print every row
	// again after each query.
	id, state func(T) string
}

// orderNames lists the values of --sort-by.
func orderNames[T any](orders []order[T]) []string {
	var names []string
	for _, o := range orders {
		names = append(names, o.name)
	}
	return names
}

// sorted sorts items by the value of --sort-by. If the argument "by" is empty, the items keep their order.
func (v view[T]) sorted(items []T, by string) []T {
	for _, o := range v.orders {
		if o.name == by {
			slices.SortStableFunc(items, o.compare)
		}
	}
	return items
}

// text formats items in the output format of the flag -o.
func (v view[T]) text(items []T, o listOutput, page terminal.Page) (string, error) {
	switch o.format {
	case outputJSON:
		return terminal.JSON(v.whole(items))
	case outputYAML:
		return terminal.YAML(v.whole(items))
	case outputName:
		return v.names(items), nil
	}
	if len(items) == 0 {
		if o.noHeaders {
			return "", nil
		}
		return v.empty + "\n", nil
	}
	return v.table(items, o, page, !o.noHeaders), nil
}

// names lists the resources of the items. If two namespaces contain resources with the same name, the list contains
// this name twice, as with kubectl.
func (v view[T]) names(items []T) string {
	var out strings.Builder
	type key struct{ namespace, name string }
	printed := map[key]bool{}
	for _, item := range items {
		namespace, name := v.resource(item)
		if k := (key{namespace, name}); name != "" && !printed[k] {
			printed[k] = true
			out.WriteString(terminal.Clean(name) + "\n")
		}
	}
	return out.String()
}

func (v view[T]) table(items []T, o listOutput, page terminal.Page, headings bool) string {
	var columns []column[T]
	var layout terminal.Table
	var titles []string
	for _, c := range v.columns {
		if c.wide && o.format != outputWide {
			continue
		}
		columns = append(columns, c)
		titles = append(titles, c.title)
		layout.Columns = append(layout.Columns, terminal.Column{Right: c.right, Shorten: c.shorten,
			Optional: c.optional})
	}
	if headings {
		layout.Add(titles...)
		layout.StyleRow(0, terminal.Dim)
	}
	for _, item := range items {
		row := layout.Rows()
		cells := make([]string, len(columns))
		for i, c := range columns {
			cells[i] = c.cell(item)
		}
		layout.Add(cells...)
		for i, c := range columns {
			if c.style != nil {
				layout.Style(row, i, c.style(item))
			}
		}
	}
	var out strings.Builder
	layout.Write(&out, page)
	return out.String()
}

// listConfig contains the flags that select agents and the format of a list.
type listConfig struct {
	target
	listOutput
}

func (c *listConfig) check() error { return errors.Join(c.target.check(), c.listOutput.check()) }

// listOutput contains the flags for the format and the order of a list.
type listOutput struct {
	output
	sortBy    string // value of --sort-by; empty for the command's own order
	noHeaders bool
	watch     bool
}

// table returns the flags for the output of a list. The argument "orders" contains the values of the flag --sort-by.
func (o *listOutput) table(orders []string) flags.Table {
	return append(flags.Table{
		flags.Switch("watch", "", &o.watch, "print the list, and then print each row that changes").As("w"),
		{
			Name: "sort-by", Value: strings.Join(orders, "|"),
			Help: "sort the rows by this column: numbers from the largest to the smallest, text alphabetically",
			Set: func(value string) error {
				// as in kubectl, the user can write a sort key as {.KEY}
				if key := strings.TrimPrefix(strings.Trim(value, "{}"), "."); slices.Contains(orders, key) {
					value = key
				}
				return flags.Choice(&o.sortBy, orders...)(value)
			},
		},
		flags.Switch("no-headers", "", &o.noHeaders, "print no column headings"),
	}, o.output.table(outputTable, outputWide, outputJSON, outputYAML, outputName)...)
}

// check reports flags that the user cannot combine.
func (o *listOutput) check() error {
	if o.noHeaders && (o.format == outputJSON || o.format == outputYAML) {
		return fmt.Errorf("--no-headers requires -o table or -o wide: -o %s has no column headings", o.format)
	}
	return nil
}

// bySize returns a comparison that puts the larger value first.
func bySize[T any, V cmp.Ordered](value func(T) V) func(x, y T) int {
	return func(x, y T) int { return cmp.Compare(value(y), value(x)) }
}

// byText returns a comparison that sorts texts alphabetically.
func byText[T any](value func(T) string) func(x, y T) int {
	return func(x, y T) int { return cmp.Compare(value(x), value(y)) }
}
