// Package health holds what each part of the agent last said of itself. Parts report a change of
// state; /readyz and the metrics read. A Board is safe for concurrent use.
package health

import (
	"sync"
	"time"
)

// Status is the last report of one part.
type Status struct {
	Part   string
	Up     bool
	Detail string    // one line for people: what is wrong and what is being done; no secrets
	Since  time.Time // of the last change between up and down
}

// Report tells the state of one part; repeated equal reports are free.
type Report func(up bool, detail string)

// Board collects reports. Parts are listed in the order of their registration.
type Board struct {
	now func() time.Time

	mu       sync.Mutex
	statuses []Status
}

// NewBoard makes an empty board that reads the time from now.
func NewBoard(now func() time.Time) *Board { return &Board{now: now} }

// Register adds a part, down until its first report, and returns how it reports.
func (b *Board) Register(part, detail string) Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := len(b.statuses)
	b.statuses = append(b.statuses, Status{Part: part, Detail: detail, Since: b.now()})
	return func(up bool, detail string) { b.report(i, up, detail) }
}

func (b *Board) report(i int, up bool, detail string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.statuses[i]
	if s.Up != up {
		s.Up, s.Since = up, b.now()
	}
	s.Detail = detail
}

// Statuses returns a copy of every part's last report.
func (b *Board) Statuses() []Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Status(nil), b.statuses...)
}
