package terminal

import (
	"slices"
	"strings"
)

const columnGap = "  "

// leastColumn is the minimum width of a shortened column, in terminal cells.
const leastColumn = 10

// Column is the format of a column.
type Column struct {
	Right bool // whether to align the column to the right
	// Shorten shortens the cells of the column if the table is too wide. Shorten is Clip, ClipStart or
	// ClipMiddle. Shorten is nil for a column that the table must not shorten.
	Shorten func(text string, cells int) string
	// Optional is true if Write can drop the column. Write drops the column only if the shortened columns are still
	// too wide for the page.
	Optional bool
}

// Table shows text in aligned columns. The text must be clean (see Clean). The first row can be a heading.
type Table struct {
	Columns []Column
	rows    [][]cell
}

type cell struct {
	text  string
	style Style
}

// Add adds a row. The row must have a cell for each column.
func (t *Table) Add(texts ...string) {
	row := make([]cell, len(texts))
	for i, text := range texts {
		row[i].text = text
	}
	t.rows = append(t.rows, row)
}

// Rows returns the number of rows.
func (t *Table) Rows() int { return len(t.rows) }

// Set replaces a cell.
func (t *Table) Set(row, column int, text string) { t.rows[row][column].text = text }

// Drop removes a column.
func (t *Table) Drop(column int) {
	t.Columns = slices.Delete(slices.Clone(t.Columns), column, column+1)
	for i := range t.rows {
		t.rows[i] = slices.Delete(t.rows[i], column, column+1)
	}
}

// Style gives a cell a style, if the page has colors.
func (t *Table) Style(row, column int, style Style) { t.rows[row][column].style = style }

// StyleRow gives all cells of a row a style.
func (t *Table) StyleRow(row int, style Style) {
	for column := range t.Columns {
		t.Style(row, column, style)
	}
}

// Width returns the width of a row in terminal cells.
func (t *Table) Width() int { return rowWidth(t.widths()) }

func rowWidth(widths []int) int {
	taken := -len(columnGap)
	for _, w := range widths {
		taken += w + len(columnGap)
	}
	return taken
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], Cells(cell.text))
		}
	}
	return widths
}

// fit shortens the columns until each row fits into the given number of terminal cells. Each step finds the widest
// column that can become shorter, and shortens this column by one cell. If no column can become shorter, fit drops the
// last optional column and begins again. If no optional column is left, the rows stay too wide. fit returns the widths
// of the columns.
func (t *Table) fit(cells int) []int {
	for {
		widths := t.widths()
		t.shorten(widths, cells)
		optional := -1
		for i, c := range t.Columns {
			if c.Optional {
				optional = i
			}
		}
		if optional < 0 || rowWidth(widths) <= cells {
			return widths
		}
		t.Drop(optional)
	}
}

func (t *Table) shorten(widths []int, cells int) {
	for over := rowWidth(widths) - cells; over > 0; over-- {
		widest := -1
		for i, w := range widths {
			if t.Columns[i].Shorten != nil && w > leastColumn && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// Write writes each row on one line. If page.Fit is true, Write can drop optional columns of the table.
func (t *Table) Write(out *strings.Builder, page Page) {
	widths := t.widths()
	if page.Fit {
		widths = t.fit(page.Columns)
	}
	for _, row := range t.rows {
		line, blank, used := "", "", 0 // blank holds spaces until the next cell with text, so no row ends with spaces
		for i, cell := range row {
			text := cell.text
			if shorten := t.Columns[i].Shorten; shorten != nil {
				text = shorten(text, widths[i])
			}
			padding := strings.Repeat(" ", widths[i]-Cells(text))
			if t.Columns[i].Right {
				blank, padding = blank+padding, ""
			}
			shown := strings.TrimRight(text, " ")
			if room := page.Columns - used - len(blank); page.Cut && Cells(shown) > room {
				line += blank[:min(len(blank), max(0, page.Columns-used))] + page.Paint(cell.style, Clip(shown, room))
				break
			}
			if shown != "" {
				used += len(blank) + Cells(shown)
				line += blank + page.Paint(cell.style, shown)
				blank = ""
			}
			blank += text[len(shown):] + padding + columnGap
		}
		out.WriteString(line + "\n")
	}
}
