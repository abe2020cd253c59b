// Package health holds the latest status of each part of the agent, for example of the pod watch. Each part reports its
// status from its own goroutines. The endpoint /readyz and the metrics read the status. A Board is safe for concurrent
// use.
package health

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"
)

// maxDetail is the maximum length of Status.Detail in bytes. A detail can contain a long error of another program.
const maxDetail = 256

// Status is the latest report of one part.
type Status struct {
	Part   string
	Up     bool
	Detail string    // one line for people: the problem and the part's reaction, without secrets
	Since  time.Time // time of the last change between up and down
	// Recoveries is the number of times that the part came up again after it was down. Recoveries does not count the
	// first time that the part comes up.
	Recoveries uint64
}

// Report sets the status of one part. The detail can be any text. A part can report the same status often, because such
// reports are cheap.
type Report func(up bool, detail string)

// Board collects the reports of all parts, and logs each change between up and down. Board lists parts in the order of
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
	wasUp    bool // the part was up at least once
}

// NewBoard returns an empty board. The argument "now" is a function that returns the current time.
func NewBoard(now func() time.Time, logger *zap.Logger) *Board {
	return &Board{now: now, logger: logger}
}

// Register adds a part and returns the function that reports the part's status. The part is down until the first
// report.
func (b *Board) Register(name, detail string) Report {
	_, report := b.addPart(name, detail)
	return report
}

// addPart registers a part and returns its index and its Report function.
func (b *Board) addPart(name, detail string) (int, Report) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := len(b.parts)
	b.parts = append(b.parts, part{Status: Status{Part: name, Detail: oneLine(detail), Since: b.now()}})
	return i, func(up bool, detail string) { b.report(i, up, oneLine(detail)) }
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
		b.logger.Info("part of the agent is up", zap.String("part", p.Part), zap.String("detail", detail))
	default:
		b.logger.Warn("part of the agent is down", zap.String("part", p.Part), zap.String("detail", detail))
	}
}

// statusOf returns the latest report of a part, by its index.
func (b *Board) statusOf(i int) Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.parts[i].Status
}

// Statuses returns a copy of the latest report of every part.
func (b *Board) Statuses() []Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	statuses := make([]Status, len(b.parts))
	for i, p := range b.parts {
		statuses[i] = p.Status
	}
	return statuses
}

// oneLine converts a text to one line of at most maxDetail bytes.
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
