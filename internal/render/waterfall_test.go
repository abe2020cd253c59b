package render

import (
	"flag"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

var update = flag.Bool("update", false, "rewrite the files in testdata; read the difference by eye")

var page110 = terminal.Page{Columns: 110}

func TestWaterfall(t *testing.T) {
	startuptest.Golden(t, *update, "cold-start.txt", Waterfall(api.NewRecord(startuptest.ColdStart()), page110))
	startuptest.Golden(t, *update, "still-pulling.txt", Waterfall(api.NewRecord(startuptest.StillPulling()), page110))
	startuptest.Golden(t, *update, "cold-start-80-columns.txt",
		Waterfall(api.NewRecord(startuptest.ColdStart()), terminal.Page{Columns: 80, Fit: true, Color: true}))
}

func TestWaterfallFitsWidth(t *testing.T) {
	record := api.NewRecord(startuptest.ColdStart())
	record.Pulls = nil
	for _, columns := range []int{95, 110, 200} {
		for line := range strings.Lines(Waterfall(record, terminal.Page{Columns: columns})) {
			if got := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); got > columns {
				t.Errorf("%d columns: a line has %d: %s", columns, got, line)
			}
		}
	}
}

// TestManyCandidates checks that many candidates do not make the row of a phase wide.
func TestManyCandidates(t *testing.T) {
	text := Waterfall(api.Record{Phases: []api.PhaseRecord{{
		Phase: timeline.PhaseUnattributed, Container: "app", Attempt: 1, MergedWith: []timeline.Phase{
			timeline.PhasePullQueue, timeline.PhasePull, timeline.PhaseUnpack, timeline.PhaseContainerCreate},
	}}}, page110)
	for _, want := range []string{"\nunattributed+4 candidates  app #2  ",
		"\nCANDIDATES\n  unattributed+4 candidates of app #2: pull_queue, pull, unpack, container_create\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestAttemptsAreCountedFromOne checks that the list of missing evidence counts attempts as the tables do.
func TestAttemptsAreCountedFromOne(t *testing.T) {
	text := Waterfall(api.Record{
		Phases:     []api.PhaseRecord{{Phase: timeline.PhaseFailedRun, Container: "app", Attempt: 3}},
		Missing:    []string{"created/app", "created/app#3", "attempts beyond those kept", "started/app#x"},
		Unreported: []string{"network_ready", "network_ready#1"},
	}, page110)
	for _, want := range []string{"failed_run  app #4", "\n  network_ready, network_ready #2\n",
		"\n  created/app, created/app #4, attempts beyond those kept, started/app#x\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// A record can come from any server that a user queries with explain.
func TestWaterfallOfHostileRecords(t *testing.T) {
	evil := "a\x1b[31m\u202eb\u200d\n\r\u2028c\xff"
	record := api.Record{
		Namespace: evil, Name: evil, Node: evil, State: timeline.State(evil),
		Owner: api.OwnerRecord{Kind: evil, Name: evil},
		Phases: []api.PhaseRecord{
			{Phase: timeline.Phase(evil), Cause: timeline.Cause(evil), Container: evil,
				StartAt:    api.InstantOf(startuptest.After(-time.Hour)),
				EndAt:      api.InstantOf(startuptest.After(time.Hour)),
				MergedWith: []timeline.Phase{timeline.Phase(evil)}},
			{StartAt: api.InstantOf(startuptest.After(time.Hour)), EndAt: api.InstantOf(startuptest.After(0)),
				Length: -1, Attempt: -3},
		},
		Pulls:      []api.PullRecord{{Container: evil, Image: evil, SizeBytes: -1, Failure: imagepull.Failure(evil)}},
		LostEvents: []string{evil},
		Conflicts:  []api.ConflictRecord{{Milestone: evil, Container: evil, Detail: evil}},
		Missing:    []string{evil},
	}
	record.Termination = &api.TerminationRecord{
		Verdict: evil, Reason: evil, Phases: record.Phases, Conflicts: record.Conflicts, Missing: record.Missing,
		Containers: []api.StopRecord{{Container: evil, How: timeline.StopKind(evil), Reason: evil, Signal: -1,
			ExitCode: new(-1), Used: new(api.Seconds(-1)), Error: new(api.Seconds(-1))}},
	}
	evilPulls := api.PullList{
		Items: []api.LivePullRecord{{Namespace: evil, Pod: evil, Container: evil, Image: evil, Registry: evil,
			Outcome: imagepull.Outcome(evil), State: evil, DoneBytes: -1, TotalBytes: 1, BytesPerSecond: -1,
			Remaining: -1}},
		Recent: []api.RecentPullRecord{{Namespace: evil, Pod: evil, PullRecord: record.Pulls[0]}},
	}
	for _, total := range []api.Seconds{0, -1, 1, api.Seconds(time.Hour)} {
		for _, columns := range []int{-5, 0, 40, 120} {
			record.Total, record.Termination.Total = total, total
			for _, text := range []string{
				Waterfall(record, terminal.Page{Columns: columns}),
				Waterfall(record, terminal.Page{Columns: columns, Fit: true}),
				PhaseText(record.Phases[0]), LivePullText(evilPulls.Items[0]), ProgressText(evilPulls.Items[0]),
				PullTextsOf(evilPulls.Recent[0].PullRecord).State,
			} {
				if strings.ContainsAny(text, "\x1b\u202e\u200d\r\u2028") || !utf8.ValidString(text) {
					t.Fatalf("hostile characters remain in %q", text)
				}
			}
		}
	}
}

func TestSizeText(t *testing.T) {
	for bytes, want := range map[int64]string{-1: "-", 0: "-", 1 << 10: "0.0 MiB", 742 << 20: "742.0 MiB",
		1023 << 20: "1023.0 MiB", 1 << 30: "1.0 GiB", 7 << 29: "3.5 GiB", 1 << 60: "1073741824.0 GiB"} {
		if got := SizeText(bytes); got != want {
			t.Errorf("%d: got %q, want %q", bytes, got, want)
		}
	}
}

func TestWaterfallShowsHighPressure(t *testing.T) {
	record := api.NewRecord(startuptest.ColdStart())
	record.Phases[0].Pressure = &api.PressureRecord{CPU: 0.49, IO: 0.1}
	record.Phases[1].Pressure = &api.PressureRecord{CPU: 0.6, IO: 0.814}
	text := Waterfall(record, terminal.Page{Columns: 140})
	if strings.Count(text, "pressure") != 1 ||
		!strings.Contains(text, string(record.Phases[1].Cause)+", io pressure 81 %\n") {
		t.Errorf("want only the high pressure in\n%s", text)
	}
}

// An Event's message can have a megabyte, and a container's name can be as long as an address.
func TestWaterfallOfOversizedRecords(t *testing.T) {
	endless := strings.Repeat("<b>\x1b[31mlong \u202e", 1<<16)
	record := api.NewRecord(startuptest.StillPulling())
	record.Verdict, record.Phases[1].Container, record.Conflicts[0].Detail, record.Pulls[0].Image = endless, endless,
		endless, endless
	record.Termination = &api.TerminationRecord{
		Verdict: endless, Phases: record.Phases,
		Containers: []api.StopRecord{{Container: endless, How: timeline.StopKind(endless), Reason: endless}},
	}
	page := terminal.Page{Columns: 100, Fit: true}
	text := Waterfall(record, page)
	if len(text) > 16<<10 {
		t.Errorf("%d bytes", len(text))
	}
	for line := range strings.Lines(text) {
		if got := terminal.Cells(strings.TrimSuffix(line, "\n")); got > page.Columns {
			t.Errorf("a line has %d cells: %.200s", got, line)
		}
	}
}

func TestWaterfallShowsFailuresAndLosses(t *testing.T) {
	record := api.NewRecord(startuptest.ColdStart())
	record.Pulls = []api.PullRecord{
		{Container: "app", Outcome: imagepull.OutcomeFailed, Failure: imagepull.FailureDNS},
		{Container: "app", Attempt: 1, Outcome: imagepull.OutcomeDownloaded, Pull: new(api.Seconds(2 * time.Second)),
			Error: new(api.Seconds(time.Second))},
	}
	record.LostEvents, record.Unreported = []string{"Pulled/app"}, []string{"network_ready"}
	text := Waterfall(record, terminal.Page{Columns: 120})
	for _, want := range []string{"failed: dns", "2.000 s  ±1.000 s", "LOST KUBELET EVENTS\n  Pulled/app\n",
		"NOT REPORTED BY THIS CONTAINER RUNTIME\n  network_ready\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestWaterfallOfDeletedPod(t *testing.T) {
	record := api.NewRecord(startuptest.ColdStart())
	record.GoneAt = api.InstantOf(startuptest.After(time.Hour))
	if text := Waterfall(record, page110); !strings.Contains(text, ", object deleted 2026-03-01 13:00:00.000 UTC\n") {
		t.Errorf("%s", text)
	}
}

func TestBarsTouch(t *testing.T) {
	a := axis{start: startuptest.After(0), total: 10 * time.Second, cells: 10}
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
		if got := a.bar(startuptest.After(test.from), startuptest.After(test.to), test.open); got != test.want {
			t.Errorf("%s to %s: got %q, want %q", test.from, test.to, got, test.want)
		}
	}
}

func TestWaterfallOfTermination(t *testing.T) {
	text := Waterfall(api.NewRecord(startuptest.Killed()), terminal.Page{Columns: 110})
	for _, want := range []string{"gone after 31.0 s: app ignored its stop signal for 30.0 s, then was killed",
		"object_deletion", "GRACE USED",
		"137 (signal 9) Error"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
