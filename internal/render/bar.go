package render

import (
	"math"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/terminal"
)

const (
	barFull  = "█"
	barOpen  = "▒" // bar of a phase in progress
	barThin  = "▏" // bar of a phase shorter than half a cell
	barBlank = " "
)

// axis maps times to terminal cells. The left edge of the first cell represents the time in the field "start". The
// right edge of the last cell represents the time "start" plus the duration "total".
type axis struct {
	start time.Time
	total time.Duration
	cells int
}

// heading returns the labels of both ends of the axis.
func (a axis) heading() string {
	left, right := "0 s", SecondsText(a.total)
	gap := a.cells - terminal.Cells(left) - terminal.Cells(right)
	if gap < 1 {
		return left
	}
	return left + strings.Repeat(" ", gap) + right
}

// bar draws the span between two times. If one span ends when the next span starts, both times round to the same edge
// of a cell. So there is no gap between the bars of these spans.
func (a axis) bar(from, to time.Time, open bool) string {
	fill := barFull
	if open {
		fill = barOpen
	}
	left, right := a.edge(from), a.edge(to)
	if right <= left {
		left = min(left, a.cells-1)
		return strings.Repeat(barBlank, left) + barThin + strings.Repeat(barBlank, a.cells-left-1)
	}
	return strings.Repeat(barBlank, left) + strings.Repeat(fill, right-left) +
		strings.Repeat(barBlank, a.cells-right)
}

// edge returns the number of the cell whose left edge is nearest to t.
func (a axis) edge(t time.Time) int {
	if a.total <= 0 {
		return 0
	}
	share := float64(t.Sub(a.start)) / float64(a.total)
	return int(math.Round(min(max(share, 0), 1) * float64(a.cells)))
}
