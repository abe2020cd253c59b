package health

import (
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// clock is a clock that the test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func TestPartsAreDownUntilTheyReport(t *testing.T) {
	c := &clock{at: time.Unix(100, 0)}
	board := NewBoard(c.now, zap.NewNop())
	board.Register("watch", "not connected yet")
	want := Status{Part: "watch", Detail: "not connected yet", Since: time.Unix(100, 0)}
	if got := board.Statuses(); len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSinceMovesOnlyBetweenUpAndDown(t *testing.T) {
	c := &clock{at: time.Unix(100, 0)}
	board := NewBoard(c.now, zap.NewNop())
	report := board.Register("watch", "")
	for _, step := range []struct {
		up     bool
		detail string
		since  int64 // Unix seconds
		again  uint64
	}{
		{false, "refused", 100, 0},
		{true, "synced", 101, 0},
		{true, "synced again", 101, 0},
		{false, "lost", 103, 0},
		{false, "still lost", 103, 0},
		{true, "synced", 105, 1},
		{false, "lost", 106, 1},
		{true, "synced", 107, 2},
	} {
		report(step.up, step.detail)
		got := board.Statuses()[0]
		if got.Up != step.up || got.Detail != step.detail || got.Since.Unix() != step.since ||
			got.Recoveries != step.again {
			t.Errorf("after %+v: got %+v", step, got)
		}
		c.pass(time.Second)
	}
}

func TestPartsKeepTheirOrderAndStaySeparate(t *testing.T) {
	board := NewBoard(time.Now, zap.NewNop())
	first := board.Register("first", "")
	board.Register("second", "waits")
	first(true, "works")
	got := board.Statuses()
	if len(got) != 2 || got[0].Part != "first" || !got[0].Up || got[1].Part != "second" || got[1].Up ||
		got[1].Detail != "waits" {
		t.Errorf("got %+v", got)
	}
}

func TestStatusesAreACopy(t *testing.T) {
	board := NewBoard(time.Now, zap.NewNop())
	board.Register("watch", "")
	board.Statuses()[0].Part = "changed"
	if got := board.Statuses()[0].Part; got != "watch" {
		t.Errorf("a reader changed the board to %q", got)
	}
}

// TestBoardIsSafeForConcurrentUse finds data races if it runs with -race.
func TestBoardIsSafeForConcurrentUse(t *testing.T) {
	board := NewBoard(time.Now, zap.NewNop())
	var parts sync.WaitGroup
	for range 8 {
		parts.Go(func() {
			report := board.Register("part", "")
			for i := range 100 {
				report(i%2 == 0, "turn")
				board.Statuses()
			}
		})
	}
	parts.Wait()
	if got := len(board.Statuses()); got != 8 {
		t.Errorf("got %d parts, want 8", got)
	}
}

func TestChangesAreLoggedOnce(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	report := NewBoard(time.Now, zap.New(core)).Register("watch", "")
	for _, up := range []bool{false, false, true, true, false} {
		report(up, "detail")
	}
	if logs.Len() != 3 {
		t.Errorf("%d messages for three changes", logs.Len())
	}
}

func TestDetailsAreOneBoundedLine(t *testing.T) {
	board := NewBoard(time.Now, zap.NewNop())
	board.Register("watch", "")(false, "a\nb\xff "+strings.Repeat("é", 1000))
	detail := board.Statuses()[0].Detail
	if len(detail) > maxDetail || !strings.HasPrefix(detail, "a b� é") || strings.ContainsRune(detail, '\n') {
		t.Errorf("detail %q", detail)
	}
}
