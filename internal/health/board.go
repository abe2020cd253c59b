// Package health holds what each part of the agent last said of itself. Parts report their state;
// /readyz and the metrics read. A Board is safe for concurrent use.
package health

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"
)

// maxDetail bounds a detail, in bytes: errors of other programs can be long.
const maxDetail = 256

// Status is the last report of one part.
type Status struct {
	Part   string
	Up     bool
	Detail string    // one line for people: what is wrong and what is being done; no secrets
	Since  time.Time // of the last change between up and down
	// Recoveries is how often it was up again after it had been; the first time is none.
	Recoveries uint64
}

// Report tells the state of one part, with a detail of any form; repeated reports are free.
type Report func(up bool, detail string)

// Board collects reports and logs the changes between up and down. Parts are listed in the order of
// their registration.
type Board struct {
	now    func() time.Time
	logger *zap.Logger

	mu    sync.Mutex
	parts []part
}

type part struct {
	Status
	reported bool
	wasUp    bool // at any time before
}

// NewBoard makes an empty board that reads the time from now.
func NewBoard(now func() time.Time, logger *zap.Logger) *Board {
	return &Board{now: now, logger: logger}
}

// Register adds a part, down until its first report, and returns how it reports.
func (b *Board) Register(name, detail string) Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := len(b.parts)
	b.parts = append(b.parts, part{Status: Status{Part: name, Detail: oneLine(detail), Since: b.now()}})
	return func(up bool, detail string) { b.report(i, up, oneLine(detail)) }
}

func (b *Board) report(i int, up bool, detail string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &b.parts[i]
	changed := !p.reported || p.Up != up
	if p.Up != up {
		p.Since = b.now()
		if up && p.wasUp {
			p.Recoveries++
		}
	}
	p.Up, p.Detail, p.reported, p.wasUp = up, detail, true, p.wasUp || up
	switch {
	case !changed:
	case up:
		b.logger.Info("part is up", zap.String("part", p.Part), zap.String("detail", detail))
	default:
		b.logger.Warn("part is down", zap.String("part", p.Part), zap.String("detail", detail))
	}
}

// Statuses returns a copy of every part's last report.
func (b *Board) Statuses() []Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	statuses := make([]Status, len(b.parts))
	for i, p := range b.parts {
		statuses[i] = p.Status
	}
	return statuses
}

// oneLine makes any text one line of at most maxDetail bytes.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "�")), " ")
	if len(text) <= maxDetail {
		return text
	}
	end := maxDetail
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
