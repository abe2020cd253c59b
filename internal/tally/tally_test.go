package tally

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is the current time in these tests.
var noon = time.Date(2026, time.March, 2, 12, 30, 0, 0, time.UTC)

const mib = 1 << 20

// tallyOf returns an empty Tally that started two days ago, and the function that changes its clock.
func tallyOf(bytes int) (*Tally, func(time.Time)) {
	now := noon.Add(-48 * time.Hour)
	t := New(Config{Node: "a", Bytes: bytes, Now: func() time.Time { return now }})
	now = noon
	return t, func(at time.Time) { now = at }
}

// startUp returns a start-up of a Deployment that ended some time before noon. The durations are in seconds. With a
// pull of 0 s, the image was on the node.
func startUp(owner string, ago time.Duration, state timeline.State, network, pull int) timeline.Timeline {
	ended := noon.Add(-ago)
	t := timeline.Timeline{Namespace: "shop", Name: owner + "-0", UID: owner + ago.String(), Node: "a", State: state,
		Owner: timeline.Owner{Kind: "Deployment", Name: owner}, SettledAt: ended}
	at := ended.Add(-time.Duration(network+pull) * time.Second)
	t.CreatedAt, t.Total = at, ended.Sub(at)
	for _, p := range []struct {
		phase   timeline.Phase
		seconds int
	}{{timeline.PhaseNetwork, network}, {timeline.PhasePull, pull}} {
		end := at.Add(time.Duration(p.seconds) * time.Second)
		if p.seconds > 0 {
			t.Phases = append(t.Phases, timeline.Span{Phase: p.phase, Cause: timeline.CauseOf(p.phase), StartAt: at,
				EndAt: end})
		}
		at = end
	}
	if pull > 0 {
		t.Pulls = []timeline.Pull{{
			Container: "app", Kind: timeline.KindMain, Image: "r.example/" + owner + ":1", Registry: "r.example",
			Confirmed: true, Outcome: imagepull.OutcomeDownloaded, Timed: true,
			Pull: time.Duration(pull) * time.Second, StartedAt: ended.Add(-time.Duration(pull) * time.Second),
			FinishedAt: ended, DownloadedAt: ended,
			Layers: []timeline.Layer{{Digest: "sha256:aa", SizeBytes: 10 * mib, DownloadedAt: ended}},
		}}
	}
	return t
}

func seconds(s int) api.Seconds { return api.Seconds(time.Duration(s) * time.Second) }

// TestSums adds start-ups with known values.
func TestSums(t *testing.T) {
	kept, _ := tallyOf(mib)
	kept.Add(startUp("web", time.Minute, timeline.StateReady, 1, 4))
	kept.Add(startUp("web", 2*time.Hour, timeline.StateDeleted, 2, 6))
	kept.Add(startUp("cart", 3*time.Hour, timeline.StateReady, 3, 0))
	rebuilt := startUp("cart", time.Hour, timeline.StateReady, 3, 0)
	rebuilt.Reconstructed = true
	kept.Add(rebuilt)
	starting := startUp("cart", 0, timeline.StateStarting, 7, 0)
	starting.SettledAt = time.Time{}
	got := kept.Report(time.Time{}, []api.Record{api.NewRecord(starting)})
	image := api.ReportItem{Kind: api.ReportImage, Namespace: "shop", Image: "r.example/web:1", Registry: "r.example",
		Causes: []api.CauseTotals{}, Pulls: api.PullTotals{Pulls: 2, Length: seconds(10), Bytes: 20 * mib}}
	image.Pulls.Sized = got.Items[0].Pulls.Sized // TestTotalsAreThoseOfFactor checks these fields
	want := []api.ReportItem{
		image,
		{Kind: api.ReportWorkload, Namespace: "shop", Owner: api.OwnerRecord{Kind: "Deployment", Name: "cart"},
			StartUps: 1, InProgress: 1, Total: seconds(10), Unfinished: seconds(7),
			Causes: []api.CauseTotals{{Cause: timeline.CauseNetwork, Length: seconds(10), Unfinished: seconds(7)}}},
		{Kind: api.ReportWorkload, Namespace: "shop", Owner: api.OwnerRecord{Kind: "Deployment", Name: "web"},
			StartUps: 2, Failures: 1, Total: seconds(13), Unfinished: seconds(8), Pulls: image.Pulls,
			Causes: []api.CauseTotals{{Cause: timeline.CauseNetwork, Length: seconds(3), Unfinished: seconds(2)},
				{Cause: timeline.CauseRegistry, Length: seconds(10), Unfinished: seconds(6)}}},
	}
	if !reflect.DeepEqual(got.Items, want) {
		t.Errorf("%+v\nwant\n%+v", got.Items, want)
	}
	if got.Totals.Ended != 3 || got.Totals.Started != 2 || got.Node != "a" || !got.At.Equal(noon) ||
		!got.Since.Equal(noon.Add(-24*time.Hour).Truncate(time.Hour)) {
		t.Errorf("%+v", got)
	}
}

// TestTotalsAreThoseOfFactor compares the totals with package factor, which nodes and registries use.
func TestTotalsAreThoseOfFactor(t *testing.T) {
	kept, _ := tallyOf(16 * mib)
	want := factor.NewTotals("a", factor.TimeWindow{})
	for n := range 60 {
		tl := startuptest.New(n)
		tl.SettledAt = noon.Add(-time.Duration(n) * 20 * time.Minute)
		kept.Add(tl)
		want.Add(api.NewRecord(tl))
	}
	starting := api.NewRecord(startuptest.StillPulling())
	want.Add(starting)
	expected := want.Record()
	expected.At = api.InstantOf(noon)
	var workloads, images, registries api.PullTotals
	for i := range expected.Registries {
		expected.Registries[i].Durations = []api.DurationBucket{}
	}
	registries = pullsOf(expected)
	got := kept.Report(time.Time{}, []api.Record{starting})
	if !reflect.DeepEqual(*got.Totals, expected) {
		t.Errorf("%+v\nwant\n%+v", *got.Totals, expected)
	}
	for _, item := range got.Items {
		if item.Kind == api.ReportImage {
			images.Add(item.Pulls)
		} else {
			workloads.Add(item.Pulls)
		}
	}
	if workloads != registries || images != registries || registries.Pulls == 0 || registries.Sized.Pulls == 0 {
		t.Errorf("pulls of workloads %+v, of images %+v, of registries %+v", workloads, images, registries)
	}
}

// TestWindow checks which hours belong to a report. The hours are full hours, so that a report from 11:45 also contains
// a start-up that ended at 11:10.
func TestWindow(t *testing.T) {
	kept, setNow := tallyOf(mib)
	for name, ago := range map[string]time.Duration{"future": -time.Minute, "now": 0, "11:10": 80 * time.Minute,
		"10:50": 100 * time.Minute, "edge": 24*time.Hour + 30*time.Minute, "old": 24*time.Hour + 31*time.Minute} {
		kept.Add(startUp(name, ago, timeline.StateReady, 1, 0))
	}
	for _, test := range []struct {
		since time.Duration // before noon; 0 for no limit
		want  int
		from  time.Time
	}{
		{0, 5, noon.Add(-24*time.Hour - 30*time.Minute)}, {45 * time.Minute, 3, noon.Add(-90 * time.Minute)},
		{2 * time.Hour, 4, noon.Add(-150 * time.Minute)}, {99 * time.Hour, 5, noon.Add(-24*time.Hour - 30*time.Minute)},
	} {
		since := time.Time{}
		if test.since > 0 {
			since = noon.Add(-test.since)
		}
		got := kept.Report(since, nil)
		if got.Totals.Ended != test.want || !got.Since.Equal(test.from) {
			t.Errorf("since %v: %d start-ups since %v, want %d since %v", test.since, got.Totals.Ended, got.Since.Time,
				test.want, test.from)
		}
	}
	setNow(noon.Add(24 * time.Hour))
	kept.Add(startUp("tomorrow", -24*time.Hour, timeline.StateReady, 1, 0))
	if got := kept.Report(time.Time{}, nil); got.Totals.Ended != 3 || len(kept.hours) != 2 {
		t.Errorf("a day later: %d start-ups in %d hours", got.Totals.Ended, len(kept.hours))
	}
	young := New(Config{Node: "a", Bytes: mib, Now: func() time.Time { return noon }})
	if got := young.Report(time.Time{}, nil); !got.Since.Equal(noon) {
		t.Errorf("a new agent reports since %v", got.Since.Time)
	}
}

// TestNamesAreBounded adds more names than the limits. The sums must stay complete.
func TestNamesAreBounded(t *testing.T) {
	kept, _ := tallyOf(16 * mib)
	const n = 2 * maxWorkloads
	for i := range n {
		tl := startUp(fmt.Sprintf("web-%03d", i), time.Minute, timeline.StateReady, 1, 4)
		tl.Pulls[0].Registry = fmt.Sprintf("r%03d.example", i)
		kept.Add(tl)
	}
	got := kept.Report(time.Time{}, nil)
	counts, sums := map[api.ReportKind]int{}, map[api.ReportKind]api.ReportItem{}
	for _, item := range got.Items {
		counts[item.Kind]++
		sum := sums[item.Kind]
		sum.Add(item)
		sums[item.Kind] = sum
	}
	if counts[api.ReportWorkload] != maxWorkloads+1 || counts[api.ReportImage] != maxImages+1 ||
		len(got.Totals.Registries) != maxRegistries+1 { // one entry is named other
		t.Errorf("%v, %d registries", counts, len(got.Totals.Registries))
	}
	if w := sums[api.ReportWorkload]; w.StartUps != n || w.Total != seconds(5*n) || w.Pulls.Pulls != n ||
		sums[api.ReportImage].Pulls.Pulls != n || pullsOf(*got.Totals).Pulls != n {
		t.Errorf("%+v", sums)
	}
}

// TestMemoryIsBounded fills a day with start-ups of ever new names. The estimated size must stay within the limit, the
// estimate must match the heap, and the latest hour must keep its names.
func TestMemoryIsBounded(t *testing.T) {
	for _, limit := range []int{minBytes, mib, maxBytes} {
		kept, setNow := tallyOf(limit)
		before := heap()
		random := rand.New(rand.NewPCG(1, 2))
		last, n := "", 0
		for h := 24; h >= 0; h-- {
			setNow(noon.Add(-time.Duration(h) * time.Hour))
			for i := range 300 {
				n++
				last = fmt.Sprintf("a-rather-long-name-of-a-workload-%d-%d", h, i)
				kept.Add(startUp(last, time.Duration(h)*time.Hour, timeline.StateReady, 1+random.IntN(9), 4))
				if size := kept.Bytes(); size > limit {
					t.Fatalf("limit %d: the size is %d after %d start-ups", limit, size, n)
				}
			}
		}
		grown := heap() - before
		t.Logf("limit %d: estimated %d bytes, actually %d", limit, kept.Bytes(), grown)
		if limit > minBytes && grown > limit {
			t.Errorf("limit %d: the heap grew by %d bytes", limit, grown)
		}
		got := kept.Report(time.Time{}, nil)
		named := 0
		for _, item := range got.Items {
			if item.Kind == api.ReportWorkload && !item.Other {
				named++
			}
		}
		if limit > minBytes && (got.Totals.Ended != n || named < maxWorkloads) {
			t.Errorf("limit %d: %d of %d start-ups, %d names", limit, got.Totals.Ended, n, named)
		}
		runtime.KeepAlive(kept)
	}
}

func TestBytesOf(t *testing.T) {
	for history, want := range map[int]int{0: 0, 4*minBytes - 1: 0, 4 * minBytes: minBytes, 4 * mib: mib,
		64 * mib: maxBytes} {
		if got := BytesOf(history); got != want {
			t.Errorf("a history of %d bytes: %d, want %d", history, got, want)
		}
	}
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func BenchmarkAdd(b *testing.B) {
	kept, _ := tallyOf(mib)
	tl := startuptest.New(1)
	tl.SettledAt = noon
	b.ReportAllocs()
	for b.Loop() {
		kept.Add(tl)
	}
}
