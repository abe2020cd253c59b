package tally

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestSumsSurviveRestart(t *testing.T) {
	first, _ := tallyOf(mib)
	for i := range 50 {
		state := timeline.StateReady
		if i%7 == 0 {
			state = timeline.StateFailed
		}
		first.Add(startUp(fmt.Sprint("web-", i%20), time.Duration(i)*25*time.Minute, state, 1, 4*(i%3)))
	}
	text, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	second := New(Config{Node: "a", Bytes: mib, Now: func() time.Time { return noon }})
	if err := second.Restore(text); err != nil {
		t.Fatal(err)
	}
	for _, since := range []time.Time{{}, noon.Add(-3 * time.Hour)} {
		got, want := second.Report(since, nil), first.Report(since, nil)
		if !reflect.DeepEqual(got, want) || want.Totals.Ended == 0 {
			t.Errorf("since %v: %+v\nwant\n%+v", since, got, want)
		}
	}
	if got, want := second.Bytes(), first.Bytes(); got < want*9/10 || got > want*11/10 {
		t.Errorf("the size is %d, was %d", got, want)
	}
	// A day later, the saved sums are too old.
	late := New(Config{Node: "a", Bytes: mib, Now: func() time.Time { return noon.Add(26 * time.Hour) }})
	if err := late.Restore(text); err != nil || len(late.hours) > 0 {
		t.Errorf("%d hours, %v", len(late.hours), err)
	}
	// An agent with a smaller limit keeps the totals.
	small := New(Config{Node: "a", Bytes: minBytes, Now: func() time.Time { return noon }})
	if err := small.Restore(text); err != nil || small.Bytes() > minBytes {
		t.Errorf("%d bytes, %v", small.Bytes(), err)
	}
}

// TestGapBetweenAgents leaves the node without an agent for five hours. The second agent reports only the start-ups of
// the latest hour before its start, so the sums are not complete before this hour.
func TestGapBetweenAgents(t *testing.T) {
	first, _ := tallyOf(mib)
	first.Add(startUp("web", 0, timeline.StateReady, 1, 0))
	text, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for gap, want := range map[time.Duration]time.Time{
		time.Minute:   noon.Add(time.Minute - Kept).Truncate(time.Hour),
		5 * time.Hour: noon.Add(4 * time.Hour),
	} {
		second := New(Config{Node: "a", Bytes: mib, Now: func() time.Time { return noon.Add(gap) }})
		if err := second.Restore(text); err != nil {
			t.Fatal(err)
		}
		report := second.Report(time.Time{}, nil)
		if report.Totals.Ended != 1 || !report.Since.Equal(want) {
			t.Errorf("%d start-ups since %s, want 1 since %s", report.Totals.Ended, report.Since, want)
		}
	}
}

func TestUnusableSums(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "parse the sums",
		`{"format":1,"node":"a","hours":[`:   "parse the sums",
		`{"format":2,"node":"a"}`:            "unknown format version 2",
		`{"format":1,"node":"b"}`:            `node "b"`,
		`{"format":1,"node":"a","hours":[]}`: `"began"`,
	} {
		kept, _ := tallyOf(mib)
		if err := kept.Restore([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzRestore checks that unusable files cause no panic.
func FuzzRestore(f *testing.F) {
	kept, _ := tallyOf(mib)
	kept.Add(startUp("web", time.Hour, timeline.StateReady, 1, 4))
	text, _ := kept.Encode()
	f.Add(text)
	f.Fuzz(func(_ *testing.T, text []byte) {
		kept, _ := tallyOf(minBytes)
		if kept.Restore(text) == nil {
			kept.Report(time.Time{}, nil)
		}
	})
}

// TestRunSavesChanges checks the times of the saves: a minute after a change, a minute after a failure, and at the end.
func TestRunSavesChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept, _ := tallyOf(mib)
		var saves, failures atomic.Int64
		var fail atomic.Bool
		write := func([]byte) error {
			saves.Add(1)
			if fail.Load() {
				return errors.New("disk full")
			}
			return nil
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- kept.Run(ctx, write, func(error) { failures.Add(1) }) }()
		after := func(d time.Duration, want int64) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := saves.Load(); got != want {
				t.Errorf("%d saves, want %d", got, want)
			}
		}
		after(time.Hour, 0) // no change
		for range 3 {
			kept.Add(startUp("web", time.Minute, timeline.StateReady, 1, 4))
		}
		after(saveEvery-time.Second, 0)
		after(time.Second, 1)
		after(saveEvery, 2) // Run took the first of the three changes before the others arrived
		after(time.Hour, 2)
		fail.Store(true)
		kept.Add(startUp("web", time.Minute, timeline.StateReady, 1, 4))
		after(2*saveEvery, 4)
		fail.Store(false)
		after(saveEvery, 5)
		after(time.Hour, 5)
		kept.Add(startUp("web", time.Minute, timeline.StateReady, 1, 4))
		synctest.Wait()
		stop()
		if err := <-done; err != nil || saves.Load() != 6 || failures.Load() != 1 { // two saves in a row failed
			t.Errorf("%v, %d saves, %d reported failures", err, saves.Load(), failures.Load())
		}
	})
}

// TestGapBetweenAgentsWithLittleMemory is like TestGapBetweenAgents, but the second agent has no room for all hours.
// The removal of the oldest hours must not move the beginning to a time without an agent.
func TestGapBetweenAgentsWithLittleMemory(t *testing.T) {
	first, _ := tallyOf(mib)
	for ago := 10; ago >= 0; ago-- {
		for i := range 50 {
			first.Add(startUp(fmt.Sprintf("web-%d-%d", ago, i), time.Duration(ago)*time.Hour, timeline.StateReady, 1,
				0))
		}
	}
	text, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	second := New(Config{Node: "a", Bytes: 4 << 10, Now: func() time.Time { return noon.Add(5 * time.Hour) }})
	if err := second.Restore(text); err != nil {
		t.Fatal(err)
	}
	report := second.Report(time.Time{}, nil)
	if want := noon.Add(4 * time.Hour); report.Since.Before(want) || report.Totals.Ended >= 550 {
		t.Errorf("%d start-ups since %s, want fewer than 550 since %s", report.Totals.Ended, report.Since, want)
	}
}
