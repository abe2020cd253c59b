package blame

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// Matrix contains the total time for each combination of a true cause and a reported cause.
type Matrix struct{ cells map[cell]time.Duration }

type cell struct{ culprit, blamed Cause }

func (m *Matrix) add(culprit, blamed Cause, length time.Duration) {
	if m.cells == nil {
		m.cells = make(map[cell]time.Duration)
	}
	m.cells[cell{culprit, blamed}] += length
}

func (m Matrix) plus(other Matrix) Matrix {
	var sum Matrix
	for _, each := range []Matrix{m, other} {
		for c, length := range each.cells {
			sum.add(c.culprit, c.blamed, length)
		}
	}
	return sum
}

// Of returns the total time for one true cause and one reported cause.
func (m Matrix) Of(culprit, blamed Cause) time.Duration { return m.cells[cell{culprit, blamed}] }

// order is the order of the causes in the matrix. The order is similar to the order of the steps in a start-up.
var order = []Cause{
	Scheduler,
	Placement,
	Gate,
	Kubelet,
	APIServer,
	Config,
	Volumes,
	Device,
	Network,
	Runtime,
	PullQueue,
	Registry,
	Disk,
	Backoff,
	App,
	Unknown,
}

// Culprits returns the true causes. Each true cause has a row in the matrix.
func (m Matrix) Culprits() []Cause { return m.used(func(c cell) Cause { return c.culprit }) }

// Blamed returns the reported causes. Each reported cause has a column in the matrix.
func (m Matrix) Blamed() []Cause { return m.used(func(c cell) Cause { return c.blamed }) }

func (m Matrix) used(of func(cell) Cause) (causes []Cause) {
	for _, cause := range order {
		for c := range m.cells {
			if of(c) == cause {
				causes = append(causes, cause)
				break
			}
		}
	}
	for c := range m.cells { // causes that are missing from the list "order" come last
		if cause := of(c); !slices.Contains(causes, cause) {
			causes = append(causes, cause)
		}
	}
	return causes
}

// Print writes the matrix as a text table, in seconds.
func (m Matrix) Print(out io.Writer) {
	blamed := m.Blamed()
	fmt.Fprintf(out, "%-12s", "culprit")
	for _, b := range blamed {
		fmt.Fprintf(out, " %10s", b)
	}
	fmt.Fprintln(out)
	for _, culprit := range m.Culprits() {
		fmt.Fprintf(out, "%-12s", culprit)
		for _, b := range blamed {
			fmt.Fprintf(out, " %10s", seconds(m.Of(culprit, b)))
		}
		fmt.Fprintln(out)
	}
}

func seconds(d time.Duration) string {
	if d == 0 {
		return "."
	}
	return fmt.Sprintf("%.1f", d.Seconds())
}
