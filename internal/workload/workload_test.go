package workload

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

var noon = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

const mib = 1 << 20

// invented is a start-up with known truth. All durations are in seconds.
type invented struct {
	name, node, revision string
	state                timeline.State
	minute               int // minute of the creation
	pull, unpack, ready  float64
	other                float64 // time of the kubelet
	err                  float64 // error bound of the total and of the first phase
	outcome              imagepull.Outcome
	size                 int64 // MiB
}

func (i invented) record() api.Record {
	r := api.Record{ID: i.name, Namespace: "shop", Name: i.name, UID: i.name, Node: i.node, Revision: i.revision,
		State: i.state, CreatedAt: api.InstantOf(noon.Add(time.Duration(i.minute) * time.Minute)),
		TotalError: seconds(i.err)}
	if r.State == "" {
		r.State = timeline.StateReady
	}
	for _, p := range []struct {
		phase  timeline.Phase
		length float64
	}{
		{timeline.PhaseKubeletPickup, i.other}, {timeline.PhasePull, i.pull}, {timeline.PhaseUnpack, i.unpack},
		{timeline.PhaseReadinessProbe, i.ready},
	} {
		r.Phases = append(r.Phases, api.PhaseRecord{Phase: p.phase, Cause: timeline.CauseOf(p.phase),
			Length: seconds(p.length)})
		r.Total += seconds(p.length)
	}
	r.Phases[0].Error = seconds(i.err)
	r.SettledAt = api.InstantOf(r.CreatedAt.Add(r.Total.Duration()))
	if i.outcome != "" {
		r.Pulls = []api.PullRecord{{Container: "app", Image: "shop:" + i.revision, Outcome: i.outcome,
			SizeBytes: i.size * mib}}
	}
	return r
}

func seconds(s float64) api.Seconds {
	return api.Seconds(time.Duration(s * float64(time.Second)).Round(time.Microsecond))
}

// several returns n start-ups like the given one. The durations of the readiness differ by a tenth of a second.
func several(n int, like invented) []api.Record {
	var records []api.Record
	for k := range n {
		one := like
		one.name, one.ready = fmt.Sprintf("%s-%d", like.name, k), like.ready+float64(k)/10
		records = append(records, one.record())
	}
	return records
}

func join(groups ...[]api.Record) (all []api.Record) {
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}

// TestCountsAndPercentiles uses ten measured start-ups of 1 to 10 s, and one start-up for each other count.
func TestCountsAndPercentiles(t *testing.T) {
	var records []api.Record
	for k := range 10 {
		records = append(records, invented{name: fmt.Sprint(k), ready: float64(k + 1), err: 0.5}.record())
	}
	records = append(records,
		invented{name: "starting", state: timeline.StateStarting, ready: 100}.record(),
		invented{name: "given-up", state: timeline.StateGivenUp, ready: 100}.record(),
		invented{name: "failed", state: timeline.StateFailed, ready: 100}.record(),
		invented{name: "deleted", state: timeline.StateDeleted, ready: 100}.record(),
		invented{name: "unknown", ready: 100, err: 100}.record())
	// A repeated report, and an earlier partial record of the same start-up, count once.
	partial := invented{name: "0", state: timeline.StateStarting, ready: 0.5}.record()
	partial.Partial = true
	records = append(records, records[0], partial)
	got := Summarize(records, Options{})
	counts := api.WorkloadCounts{Measured: 10, InProgress: 1, GivenUp: 1, Failed: 1, Deleted: 1, Unknown: 1}
	if got.StartUps != counts {
		t.Errorf("counts %+v, want %+v", got.StartUps, counts)
	}
	half := seconds(0.5)
	want := api.WorkloadDurations{StartUps: 10, Mean: seconds(5.5), MeanError: half, P50: seconds(5), P50Error: half,
		P90: seconds(9), P90Error: half, Slowest: seconds(10), SlowestError: half}
	if got.Durations == nil || *got.Durations != want {
		t.Errorf("durations %+v, want %+v", got.Durations, want)
	}
	if got.Slowest == nil || got.Slowest.Name != "9" {
		t.Errorf("slowest %+v, want 9", got.Slowest)
	}
}

func TestNothingMeasured(t *testing.T) {
	got := Summarize([]api.Record{invented{name: "a", state: timeline.StateStarting, ready: 1}.record()}, Options{})
	if got.Durations != nil || got.Slowest != nil || got.StartUps.InProgress != 1 || len(got.Causes) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestNearestRank(t *testing.T) {
	for _, test := range []struct{ percent, n, want int }{
		{50, 1, 1}, {50, 2, 1}, {50, 3, 2}, {90, 1, 1}, {90, 9, 9}, {90, 10, 9}, {90, 11, 10}, {100, 7, 7}, {0, 5, 1},
	} {
		if got := rank(test.percent, test.n); got != test.want {
			t.Errorf("rank(%d, %d) = %d, want %d", test.percent, test.n, got, test.want)
		}
	}
}

// TestPercentileError uses one start-up with a large error bound. The true durations can be 1, 2 and 3 to 9 s.
func TestPercentileError(t *testing.T) {
	records := []api.Record{invented{name: "a", ready: 1}.record(), invented{name: "b", ready: 2}.record(),
		invented{name: "c", ready: 5, err: 4.5}.record()}
	d := Summarize(records, Options{}).Durations
	// lows 0.5, 1, 2; highs 1, 2, 9.5
	if d.P50 != seconds(2) || d.P50Error != seconds(1) || d.Slowest != seconds(5) || d.SlowestError != seconds(4.5) ||
		d.MeanError != seconds(1.5) {
		t.Errorf("%+v", d)
	}
}

func TestMeanByCause(t *testing.T) {
	records := []api.Record{invented{name: "a", pull: 4, unpack: 1, ready: 2, other: 1}.record(),
		invented{name: "b", pull: 6, unpack: 1, ready: 4, other: 1}.record()}
	records[1].Phases = records[1].Phases[:3] // 4 s without a phase count as unattributed
	got := Summarize(records, Options{}).Causes
	want := []api.WorkloadCause{{Cause: "registry", Mean: seconds(5)}, {Cause: "unknown", Mean: seconds(2)},
		{Cause: "app", Mean: seconds(1)}, {Cause: "disk", Mean: seconds(1)}, {Cause: "kubelet", Mean: seconds(1)}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestImageSplit injects 20 s for a pull. Pulls of ephemeral containers are not part of the start-up.
func TestImageSplit(t *testing.T) {
	present := several(5, invented{name: "present", ready: 2, outcome: imagepull.OutcomePresent})
	for i := range present {
		present[i].Pulls = append(present[i].Pulls, api.PullRecord{Container: "debug", Kind: timeline.KindEphemeral,
			Outcome: imagepull.OutcomeDownloaded})
	}
	got := Summarize(join(present, several(5, invented{name: "pulled", pull: 20, ready: 2,
		outcome: imagepull.OutcomeDownloaded}), several(2, invented{name: "unknown", ready: 2})), Options{}).Images
	if got.Present.StartUps != 5 || got.Pulled.StartUps != 5 || got.Unknown != 2 {
		t.Errorf("%+v", got)
	}
	d := got.Difference
	if d.Verdict != api.MoreThanNoise || d.Seconds != seconds(20) || len(d.Parts) != 1 ||
		d.Parts[0].Phase != timeline.PhasePull || d.Parts[0].Seconds != seconds(20) || d.Other != 0 {
		t.Errorf("%+v", d)
	}
}

// TestRevisions injects 6.1 s of pulling and 2 s of readiness into the second revision.
func TestRevisions(t *testing.T) {
	before := invented{name: "old", revision: "b", minute: 10, pull: 5, ready: 2, outcome: imagepull.OutcomeDownloaded,
		size: 310}
	after := invented{name: "new", revision: "a", minute: 20, pull: 11.1, ready: 4,
		outcome: imagepull.OutcomeDownloaded, size: 742}
	for name, test := range map[string]struct {
		n        int
		err      float64
		verdict  api.WorkloadVerdict
		unproven bool // the data proves no phase
		numbers  map[string]int64
		compare  []string
		from, to string
		sign     float64
	}{
		"eight each": {n: 8, err: 0.9, verdict: api.MoreThanNoise, from: "b", to: "a", sign: 1},
		"by number": {n: 8, verdict: api.MoreThanNoise, from: "a", to: "b", sign: -1,
			numbers: map[string]int64{"b": 43, "a": 42}},
		"as chosen": {n: 8, verdict: api.MoreThanNoise, from: "a", to: "b", sign: -1,
			compare: []string{"a", "b"}},
		"four each":          {n: 4, verdict: api.MoreThanNoise, unproven: true, from: "b", to: "a", sign: 1},
		"three each":         {n: 3, verdict: api.TooFew, from: "b", to: "a", sign: 1},
		"two each":           {n: 2, verdict: api.TooFew, from: "b", to: "a", sign: 1},
		"large error bounds": {n: 8, err: 4.5, verdict: api.WithinErrors, from: "b", to: "a", sign: 1},
	} {
		before.err, after.err = test.err, test.err
		got := Summarize(join(several(test.n, before), several(test.n, after)),
			Options{Numbers: test.numbers, Compare: test.compare})
		c := got.Comparison
		if c == nil || c.From != test.from || c.To != test.to || c.Difference.Verdict != test.verdict ||
			c.Difference.Seconds != seconds(8.1*test.sign) {
			t.Errorf("%s: %+v", name, c)
			continue
		}
		proven, unproven := c.Difference.Parts, c.Difference.Unproven
		if test.unproven {
			proven, unproven = unproven, proven
		}
		parts := fmt.Sprintf("%s %s", timeline.PhasePull, timeline.PhaseReadinessProbe)
		if test.verdict != api.MoreThanNoise {
			parts = ""
		}
		if found := phasesOf(proven); found != parts || len(unproven) > 0 {
			t.Errorf("%s: parts %q, want %q; other parts %v", name, found, parts, unproven)
		}
		if r := got.Revisions[0]; r.Name != "a" && test.numbers == nil || r.ImageBytes == 0 || r.Pulled != test.n {
			t.Errorf("%s: %+v", name, got.Revisions)
		}
	}
}

// TestReplacedRevisionIsSkipped replaces a revision before its only pod is ready.
func TestReplacedRevisionIsSkipped(t *testing.T) {
	of := func(revision string, minute int) invented {
		return invented{name: revision, revision: revision, minute: minute, pull: 5, ready: 2,
			outcome: imagepull.OutcomeDownloaded, size: 310}
	}
	replaced := several(1, of("b", 20))
	for i := range replaced {
		replaced[i].State = timeline.StateDeleted
	}
	got := Summarize(join(several(4, of("a", 10)), replaced, several(4, of("c", 30))), Options{})
	if c := got.Comparison; c == nil || c.From != "a" || c.To != "c" {
		t.Errorf("compared %+v, want the revisions a and c", c)
	}
	got = Summarize(join(replaced, several(4, of("c", 30))), Options{})
	if c := got.Comparison; c == nil || c.From != "b" || c.To != "c" {
		t.Errorf("compared %+v, want the revisions b and c", c)
	}
}

func phasesOf(parts []api.WorkloadPart) string {
	var phases []string
	for _, part := range parts {
		phases = append(phases, string(part.Phase))
	}
	return strings.Join(phases, " ")
}

// TestImageSizeIsOmitted uses pods whose images have different sizes, or an unknown size.
func TestImageSizeIsOmitted(t *testing.T) {
	like := invented{revision: "a", ready: 1, outcome: imagepull.OutcomePresent, size: 10}
	first, other, unknown := like, like, like
	first.name, other.name, unknown.name = "1", "2", "3"
	other.size, unknown.size = 12, 0
	for name, records := range map[string][]api.Record{
		"other size":   {first.record(), other.record()},
		"unknown size": {first.record(), unknown.record()},
	} {
		if r := Summarize(records, Options{}).Revisions[0]; r.ImageBytes != 0 {
			t.Errorf("%s: %d bytes", name, r.ImageBytes)
		}
	}
	retried := first.record()
	failed := retried.Pulls[0]
	failed.Outcome, failed.SizeBytes = imagepull.OutcomeFailed, 0
	sidecar := retried.Pulls[0]
	sidecar.Container = "sidecar"
	retried.Pulls = append([]api.PullRecord{failed, sidecar}, retried.Pulls...)
	if r := Summarize([]api.Record{retried}, Options{}).Revisions[0]; r.ImageBytes != 10*mib || r.Pulled != 1 {
		t.Errorf("one image in two containers, with a failed attempt: %+v", r)
	}
}

// TestHostileRecords uses impossible durations. The summary must not count them.
func TestHostileRecords(t *testing.T) {
	long := api.Seconds(1<<63 - 1)
	records := []api.Record{
		{ID: "1", State: timeline.StateReady, Total: long, Phases: []api.PhaseRecord{{Length: long}, {Length: long}}},
		{ID: "2", State: timeline.StateReady, Total: -1},
		{ID: "3", State: timeline.StateReady, Total: 5, TotalError: -1},
		{ID: "4", State: timeline.StateReady, Total: 5, Phases: []api.PhaseRecord{{Length: -3}}},
	}
	if got := Summarize(records, Options{}).StartUps; got != (api.WorkloadCounts{Unknown: 4}) {
		t.Errorf("%+v", got)
	}
}

// TestHostileErrorBounds uses phases with endless error bounds. No sum may overflow.
func TestHostileErrorBounds(t *testing.T) {
	var records []api.Record
	for _, revision := range []string{"a", "b"} {
		for _, r := range several(8, invented{name: revision, revision: revision, pull: 1, ready: 2}) {
			for range 3 {
				r.Phases = append(r.Phases, api.PhaseRecord{Phase: timeline.PhasePull, Cause: timeline.CauseRegistry,
					Error: 1<<63 - 1, MergedWith: []timeline.Phase{timeline.PhaseUnpack}})
			}
			records = append(records, r)
		}
	}
	got := Summarize(records, Options{})
	for _, phase := range got.Phases {
		if phase.Error < 0 || phase.Error > seconds(4) {
			t.Errorf("phase %s has the error bound %s", phase.Phase, phase.Error)
		}
	}
	for _, cause := range got.Causes {
		if cause.Error < 0 {
			t.Errorf("cause %s has the error bound %s", cause.Cause, cause.Error)
		}
	}
	if got.StartUps.Measured != 16 {
		t.Errorf("%+v", got.StartUps)
	}
}

func BenchmarkSummarize(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	var records []api.Record
	for len(records) < 500 {
		for _, record := range randomRecords(random) {
			record.ID = fmt.Sprint(len(records))
			records = append(records, record)
		}
	}
	for b.Loop() {
		Summarize(records, Options{})
	}
}
