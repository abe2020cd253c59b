package export

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestWaterfall(t *testing.T) {
	golden(t, "cold-start.txt", Waterfall(NewRecord(coldStart()), 110))
	golden(t, "still-pulling.txt", Waterfall(NewRecord(stillPulling()), 110))
}

func TestWaterfallKeepsToItsWidth(t *testing.T) {
	record := NewRecord(coldStart())
	record.Pulls = nil
	for _, columns := range []int{95, 110, 200} {
		for line := range strings.Lines(Waterfall(record, columns)) {
			if got := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); got > columns {
				t.Errorf("%d columns: a line of %d: %s", columns, got, line)
			}
		}
	}
}

// A record can come from any server that explain was pointed at.
func TestWaterfallOfHostileRecords(t *testing.T) {
	evil := "a\x1b[31m\u202eb\u200d\n\r\u2028c\xff"
	record := Record{
		Namespace: evil, Name: evil, Node: evil, State: timeline.State(evil),
		Owner: OwnerRecord{Kind: evil, Name: evil},
		Phases: []PhaseRecord{
			{Phase: timeline.Phase(evil), Cause: timeline.Cause(evil), Container: evil, StartAt: Instant{createdAt.Add(-time.Hour)},
				EndAt: Instant{createdAt.Add(time.Hour)}, MergedWith: []timeline.Phase{timeline.Phase(evil)}},
			{StartAt: Instant{createdAt.Add(time.Hour)}, EndAt: Instant{createdAt}, Length: -1, Attempt: -3},
		},
		Pulls:      []PullRecord{{Container: evil, Image: evil, SizeBytes: -1, Failure: imagepull.Failure(evil)}},
		LostEvents: []string{evil},
		Conflicts:  []ConflictRecord{{Mark: evil, Container: evil, Detail: evil}},
		Missing:    []string{evil},
	}
	for _, total := range []Seconds{0, -1, 1, Seconds(time.Hour)} {
		for _, columns := range []int{-5, 0, 40, 120} {
			record.Total = total
			for _, text := range []string{Waterfall(record, columns), Summary([]Record{record})} {
				if strings.ContainsAny(text, "\x1b\u202e\u200d\r\u2028") || !utf8.ValidString(text) {
					t.Fatalf("hostile characters survive in %q", text)
				}
			}
		}
	}
}

func TestWaterfallTellsOfHighPressure(t *testing.T) {
	record := NewRecord(coldStart())
	record.Phases[0].Pressure = &PressureRecord{CPU: 0.49, IO: 0.1}
	record.Phases[1].Pressure = &PressureRecord{CPU: 0.6, IO: 0.814}
	text := Waterfall(record, 140)
	if strings.Count(text, "pressure") != 1 || !strings.Contains(text, string(record.Phases[1].Cause)+", io pressure 81 %\n") {
		t.Errorf("want the high one alone in\n%s", text)
	}
}

func TestWaterfallTellsOfFailuresAndLosses(t *testing.T) {
	record := NewRecord(coldStart())
	record.Pulls = []PullRecord{
		{Container: "app", Outcome: imagepull.OutcomeFailed, Failure: imagepull.FailureDNS},
		{Container: "app", Attempt: 1, Outcome: imagepull.OutcomeDownloaded, Pull: new(Seconds(2 * time.Second)), Error: new(Seconds(time.Second))},
	}
	record.LostEvents = []string{"Pulled/app"}
	text := Waterfall(record, 120)
	for _, want := range []string{"failed: dns", "2.000 s  ±1.000 s", "EVENTS THAT KUBELET MADE AND NOBODY GOT\n  Pulled/app\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestSummary(t *testing.T) {
	golden(t, "summary.txt", Summary([]Record{NewRecord(coldStart()), NewRecord(stillPulling()), {Name: "new"}}))
}

func TestBarsTouch(t *testing.T) {
	a := axis{start: createdAt, total: 10 * time.Second, cells: 10}
	for _, test := range []struct {
		from, to time.Duration
		open     bool
		want     string
	}{
		{0, 5 * time.Second, false, "█████     "},
		{5 * time.Second, 10 * time.Second, true, "     ▒▒▒▒▒"},
		{2 * time.Second, 2 * time.Second, false, "  ▏       "},
		{10 * time.Second, 10 * time.Second, false, "         ▏"},
	} {
		if got := a.bar(after(test.from), after(test.to), test.open); got != test.want {
			t.Errorf("%s to %s: got %q, want %q", test.from, test.to, got, test.want)
		}
	}
}

func TestCellsOfWideText(t *testing.T) {
	if got := cells("漢a"); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}
