package tally

import (
	"slices"
	"sync"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Kept is how long a Tally keeps sums. A Tally removes the sums of an hour only when the whole hour is older than Kept.
const Kept = 24 * time.Hour

// Limits on the memory of a Tally. A Tally uses at most a quarter of the memory that --history-limit allows. With less
// memory than minBytes, the sums of a day would contain hardly any names of workloads and images.
const (
	minBytes = 64 << 10
	maxBytes = 4 << 20
)

// BytesOf returns the maximum size of a Tally for the given value of --history-limit. The argument and the result are
// in bytes. If a quarter of the argument is less than minBytes, BytesOf returns 0.
func BytesOf(history int) int {
	if history/4 < minBytes {
		return 0
	}
	return min(history/4, maxBytes)
}

// Config configures a Tally.
type Config struct {
	Node  string
	Bytes int              // maximum total size of all sums, in bytes
	Now   func() time.Time // clock
}

// Tally keeps the sums of the past day. A Tally is safe for concurrent use.
type Tally struct {
	config  Config
	changed chan struct{} // signals unsaved changes; capacity 1, so a second signal is dropped

	mu    sync.Mutex
	began time.Time // time from which the sums are complete
	hours []hour    // oldest first
}

// hour contains the sums of the start-ups that ended in one hour.
type hour struct {
	start time.Time // full hour in UTC
	sums  *Sums
}

// New returns an empty Tally.
func New(config Config) *Tally {
	return &Tally{config: config, changed: make(chan struct{}, 1), began: config.Now()}
}

// Add adds a settled start-up. Add takes a fraction of a millisecond and never waits for I/O.
func (t *Tally) Add(startUp timeline.Timeline) {
	if startUp.State == timeline.StateStarting || startUp.Reconstructed {
		return
	}
	record := api.NewRecord(startUp)
	t.mu.Lock()
	now := t.config.Now()
	t.forget(now)
	if i := t.hourAt(record.SettledAt.Time, now); i >= 0 {
		t.adjustLimit(i)
		t.hours[i].sums.Add(record)
		t.compact()
	}
	t.mu.Unlock()
	t.signal()
}

// hourAt returns the index of the hour that contains the time "at". If the hour is absent, hourAt adds it. If the hour
// is too old, hourAt returns -1. If "at" is in the future, hourAt uses the current hour.
func (t *Tally) hourAt(at, now time.Time) int {
	if at.After(now) {
		at = now
	}
	start := at.UTC().Truncate(time.Hour)
	if start.Before(oldest(now)) {
		return -1
	}
	i, found := slices.BinarySearchFunc(t.hours, start, func(h hour, start time.Time) int {
		return h.start.Compare(start)
	})
	if !found {
		t.hours = slices.Insert(t.hours, i, hour{start, newHour(t.config.Node)})
	}
	return i
}

func oldest(now time.Time) time.Time { return now.UTC().Add(-Kept).Truncate(time.Hour) }

// forget removes the hours that are too old. If the clock was set back, forget moves the sums of later hours to the
// current hour.
func (t *Tally) forget(now time.Time) {
	for n := len(t.hours); n > 0 && t.hours[n-1].start.After(now); n = len(t.hours) {
		later := t.hours[n-1].sums
		t.hours = slices.Delete(t.hours, n-1, n)
		i := t.hourAt(now, now)
		t.adjustLimit(i)
		t.hours[i].sums.Merge(later)
	}
	t.hours = slices.DeleteFunc(t.hours, func(h hour) bool { return h.start.Before(oldest(now)) })
}

// leastClockChange is the smallest shift of the wall clock against the monotonic clock that counts as a clock change.
// Without a clock change, the two clocks still seem to shift by a few nanoseconds, because time.Now reads one clock
// after the other.
const leastClockChange = time.Millisecond

// beganAt returns t.began. If the agent's clock was set, beganAt first converts t.began to the new setting. The times
// "now" and t.began have a monotonic clock reading, so now.Sub returns the true duration between them. Until the clock
// is set again, beganAt returns the same time.
func (t *Tally) beganAt(now time.Time) time.Time {
	began := now.Add(-max(now.Sub(t.began), 0))
	if began.Round(0).Sub(t.began.Round(0)).Abs() >= leastClockChange {
		t.began = began
	}
	return t.began
}

// adjustLimit sets the limit of one hour to the memory that the other hours do not use.
func (t *Tally) adjustLimit(i int) {
	sums := t.hours[i].sums
	sums.limit = t.config.Bytes - t.size() + sums.bytes
}

// compact makes room if the sums use more than three quarters of Config.Bytes. compact first combines the entries of
// the oldest hours. Only the combined hours lose the names of their workloads and images. If the sums still use more
// than three quarters of Config.Bytes, compact removes the oldest hours. compact combines the entries of the latest
// hour only if this hour alone uses more than Config.Bytes.
func (t *Tally) compact() {
	most := t.config.Bytes * 3 / 4
	for i := 0; i < len(t.hours)-1 && t.size() > most; i++ {
		t.hours[i].sums.fold()
	}
	for len(t.hours) > 1 && t.size() > most {
		// If t.began is later than the start of the hour t.hours[1], as can happen after Restore, t.began stays the
		// same. time.Time.Add keeps the monotonic clock reading of t.began.
		t.began = t.began.Add(max(t.hours[1].start.Sub(t.began), 0))
		t.hours = slices.Delete(t.hours, 0, 1)
	}
	if t.size() > t.config.Bytes {
		t.hours[0].sums.fold()
	}
}

func (t *Tally) size() (bytes int) {
	for _, h := range t.hours {
		bytes += h.sums.bytes
	}
	return bytes
}

// Bytes returns the estimated memory of the sums, in bytes.
func (t *Tally) Bytes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size()
}

// Report adds up the start-ups in progress and the sums of all hours that end after the time "since". If "since" is
// zero, Report includes the sums of all hours.
func (t *Tally) Report(since time.Time, inProgress []api.Record) api.ReportRecord {
	sums := NewSums(t.config.Node)
	t.mu.Lock()
	now := t.config.Now()
	t.forget(now)
	from := oldest(now)
	if first := since.UTC().Truncate(time.Hour); first.After(from) {
		from = first
	}
	for _, h := range t.hours {
		if !h.start.Before(from) {
			sums.Merge(h.sums)
		}
	}
	if began := t.beganAt(now); began.After(from) {
		from = began
	}
	t.mu.Unlock()
	for _, record := range inProgress {
		sums.Add(record)
	}
	report := sums.Record()
	report.At, report.Since = api.InstantOf(now), api.InstantOf(from)
	report.Totals.At = report.At
	return report
}
