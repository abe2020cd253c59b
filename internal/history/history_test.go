package history

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var goneAt = time.Date(2026, time.March, 1, 13, 0, 0, 7, time.UTC)

func history(pods, bytes int) *History {
	return New(Config{Pods: pods, Bytes: bytes, Now: func() time.Time {
		return goneAt
	}, Registerer: prometheus.NewRegistry(), Logger: zap.NewNop()})
}

// TestDeletedPodKeepsItsRecord checks that the history returns a deleted pod's last record and the time of the
// deletion.
func TestDeletedPodKeepsItsRecord(t *testing.T) {
	h := history(10, 1<<20)
	for _, tl := range []timeline.Timeline{startuptest.New(1), {UID: "bare", State: timeline.StateDeleted}} {
		h.Add(tl)
		entries := h.Entries()
		entry := entries[len(entries)-1]
		got, labels, err := entry.Record()
		if err != nil {
			t.Fatal(err)
		}
		want := api.NewRecord(tl)
		want.GoneAt = api.InstantOf(goneAt)
		gotText, _ := json.Marshal(got)
		wantText, _ := json.Marshal(want)
		if string(gotText) != string(wantText) || labels != tl.Labels {
			t.Errorf("labels %q\n%s\nwant %q\n%s", labels, gotText, tl.Labels, wantText)
		}
		startuptest.TimelineSchema(t).Check(t, wantText)
		if entry.UID != tl.UID || entry.Total != tl.Total || !entry.GoneAt().Equal(goneAt) {
			t.Errorf("%+v", entry)
		}
	}
	entry := h.Entries()[0]
	if tl := startuptest.New(1); !entry.CreatedAt().Equal(tl.CreatedAt) || !entry.SettledAt().Equal(tl.SettledAt) {
		t.Errorf("%+v", entry)
	}
}

func TestOldestPodsAreEvicted(t *testing.T) {
	one := history(1, 1<<20)
	one.Add(startuptest.New(0))
	size := one.Stats().Bytes
	for name, test := range map[string]struct{ pods, bytes, kept int }{
		"by count":    {3, 1 << 20, 3},
		"by bytes":    {1000, 5 * (size + size/4), 6}, // the sizes of records differ by less than a quarter
		"none":        {0, 1 << 20, 0},
		"no memory":   {10, 0, 0},
		"room enough": {100, 1 << 20, 50},
	} {
		h := history(test.pods, test.bytes)
		sum := 0
		for n := range 50 {
			h.Add(startuptest.New(n))
		}
		entries, stats := h.Entries(), h.Stats()
		for i, e := range entries {
			sum += e.size()
			if want := startuptest.New(50 - len(entries) + i).UID; e.UID != want {
				t.Errorf("%s: entry %d is %s, want %s", name, i, e.UID, want)
			}
		}
		if len(entries) > test.kept || len(entries) < min(test.kept, 5)-1 || stats.Bytes != sum || sum > test.bytes ||
			stats.Pods != len(entries) || stats.Dropped != uint64(50-len(entries)) ||
			stats.OldestAt.IsZero() != (len(entries) == 0) {
			t.Errorf("%s: kept %d, %+v, actual size %d bytes", name, len(entries), stats, sum)
		}
	}
}

// TestOtherDataShrinksHistory checks that the history and the data otherBytes it stay within one limit.
func TestOtherDataShrinksHistory(t *testing.T) {
	h := history(100, 64<<10)
	otherBytes := 0
	h.config.OtherBytes = func() int { return otherBytes }
	for n := range 50 {
		h.Add(startuptest.New(n))
	}
	before := h.Stats()
	otherBytes = 48 << 10
	h.Trim()
	after := h.Stats()
	if before.Bytes <= 16<<10 || after.Bytes > 16<<10 || after.Pods == 0 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	otherBytes = 1 << 20
	h.Trim()
	if got := h.Stats(); got.Pods != 0 || got.Bytes != 0 {
		t.Errorf("without room: %+v", got)
	}
}

// TestMemoryEstimateMatchesHeap compares the estimated size with the growth of the heap.
func TestMemoryEstimateMatchesHeap(t *testing.T) {
	t.Run("folded", func(t *testing.T) {
		compareEstimate(t, func(tl timeline.Timeline) timeline.Timeline { return tl })
	})
	t.Run("unpacked", func(t *testing.T) {
		compareEstimate(t, func(tl timeline.Timeline) timeline.Timeline { return timeline.Pack(tl).Timeline() })
	})
}

func compareEstimate(t *testing.T, form func(timeline.Timeline) timeline.Timeline) {
	const pods = 500
	h := history(pods, 64<<20)
	h.Add(startuptest.New(0)) // fills the pools of the compression
	before, already := heap(), h.Stats().Bytes
	for n := range pods - 1 {
		h.Add(form(startuptest.New(n + 1)))
	}
	grown, counted := heap()-before, h.Stats().Bytes-already
	record, _, err := h.Entries()[1].JSON()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("estimated %d bytes a pod, actually %d, for a record of %d bytes", counted/pods, grown/pods, len(record))
	if ratio := float64(grown) / float64(counted); ratio < 0.8 || ratio > 1.1 {
		t.Errorf("the heap grew by %d bytes, the estimate is %d", grown, counted)
	}
	runtime.KeepAlive(h)
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func BenchmarkAdd(b *testing.B) {
	h := history(1000, 4<<20)
	tl := startuptest.New(1)
	b.ReportAllocs()
	for b.Loop() {
		h.Add(tl)
	}
}

func BenchmarkRecord(b *testing.B) {
	h := history(1000, 4<<20)
	h.Add(startuptest.New(1))
	entry := h.Entries()[0]
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := entry.Record(); err != nil {
			b.Fatal(err)
		}
	}
}
