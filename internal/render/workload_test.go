package render

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func secs(s float64) api.Seconds {
	return api.Seconds(time.Duration(s * float64(time.Second)).Round(time.Microsecond))
}

// durations returns the durations of a group with the given mean.
func durations(n int, mean float64) *api.WorkloadDurations {
	return &api.WorkloadDurations{StartUps: n, Mean: secs(mean), MeanError: secs(0.5), P50: secs(mean - 1),
		P50Error: secs(0.9), P90: secs(mean + 2), P90Error: secs(0.9), Slowest: secs(mean + 4), SlowestError: secs(0.9)}
}

func difference(verdict api.WorkloadVerdict, seconds float64, parts ...api.WorkloadPart) api.WorkloadDifference {
	d := api.WorkloadDifference{Verdict: verdict, Seconds: secs(seconds), Parts: parts, Other: secs(seconds)}
	for _, part := range parts {
		d.Other -= part.Seconds
	}
	return d
}

// shopSummary is a workload with a slow node, two revisions, and pods that had to pull the image.
func shopSummary() api.WorkloadSummary {
	pull := api.WorkloadPart{Phase: timeline.PhasePull, Cause: timeline.CauseRegistry, Seconds: secs(6.1)}
	ready := api.WorkloadPart{Phase: timeline.PhaseReadinessProbe, Cause: timeline.CauseApp, Seconds: secs(2)}
	network := api.WorkloadPart{Phase: timeline.PhaseNetwork, Cause: timeline.CauseNetwork, Seconds: secs(5)}
	images := difference(api.MoreThanNoise, 38,
		api.WorkloadPart{Phase: timeline.PhasePull, Cause: timeline.CauseRegistry, Seconds: secs(38.1)})
	return api.WorkloadSummary{
		StartUps:  api.WorkloadCounts{Measured: 24, InProgress: 2, GivenUp: 1, Failed: 3, Deleted: 1, Unknown: 1},
		Durations: durations(24, 18.5),
		Causes: []api.WorkloadCause{
			{Cause: timeline.CauseRegistry, Mean: secs(10), Error: secs(0.1)},
			{Cause: timeline.CauseApp, Mean: secs(6), Error: secs(0.1)},
			{Cause: timeline.CauseUnknown, Mean: secs(1.5), Error: secs(0.9)},
			{Cause: timeline.CauseKubelet, Mean: secs(0.6)}, {Cause: timeline.CauseRuntime, Mean: secs(0.4)},
		},
		Images: api.WorkloadImages{Present: durations(18, 9), Pulled: durations(6, 47), Difference: &images},
		Nodes: []api.WorkloadNode{
			{Name: "worker-2", Durations: *durations(6, 23), Others: *durations(18, 17),
				Difference: difference(api.MoreThanNoise, 6, network)},
			{Name: "worker-1", Durations: *durations(6, 14), Others: *durations(18, 20),
				Difference: difference(api.MoreThanNoise, -6)},
		},
		Revisions: []api.WorkloadRevision{
			{Name: "7d4b9", Number: 42, Durations: durations(12, 22.6), Pulled: 5, PulledOf: 12, ImageBytes: 742 << 20,
				Containers: []string{"app"}},
			{Name: "6f6c9", Number: 41, Durations: durations(12, 14.4), Pulled: 1, PulledOf: 12, ImageBytes: 310 << 20,
				Containers: []string{"app"}},
		},
		Comparison: &api.WorkloadComparison{From: "6f6c9", To: "7d4b9",
			Difference: difference(api.MoreThanNoise, 8.2, pull, ready)},
	}
}

func TestWorkload(t *testing.T) {
	startuptest.Golden(t, *update, "workload.txt", Workload("deployment shop/web", shopSummary(), page110))
	startuptest.Golden(t, *update, "workload-80-columns.txt",
		Workload("deployment shop/web", shopSummary(), terminal.Page{Columns: 80, Fit: true, Color: true}))
}

// TestEveryCauseHasItsPattern checks that a bar with all causes has a different character for each cause.
func TestEveryCauseHasItsPattern(t *testing.T) {
	summary, causes := shopSummary(), map[timeline.Cause]bool{}
	for _, phase := range timeline.Phases() {
		causes[timeline.CauseOf(phase)] = true
	}
	summary.Causes, summary.Durations.Mean = nil, secs(float64(len(causes)))
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		summary.Causes = append(summary.Causes, api.WorkloadCause{Cause: cause, Mean: secs(1)})
	}
	_, text, _ := strings.Cut(Workload("deployment shop/web", summary, page110), "\n\n")
	bar, _, _ := strings.Cut(text, "\n")
	patterns := map[rune]bool{}
	for _, pattern := range bar {
		patterns[pattern] = true
	}
	if len(causes) < 15 || len(patterns) != len(causes) || terminal.Cells(bar) != page110.Columns {
		t.Errorf("%d patterns for %d causes: %s", len(patterns), len(causes), bar)
	}
}

func TestWorkloadFitsWidth(t *testing.T) {
	summary := shopSummary()
	summary.Nodes[0].Name = strings.Repeat("ip-10-0-0-1.", 5)
	for _, columns := range []int{80, 110} {
		page := terminal.Page{Columns: columns, Fit: true}
		for line := range strings.Lines(Workload("deployment shop/web", summary, page)) {
			if cells := terminal.Cells(strings.TrimSuffix(line, "\n")); cells > columns {
				t.Errorf("%d columns: a line has %d: %s", columns, cells, line)
			}
		}
	}
}

// TestDifferencesWithoutSupport requires that the text states no difference that the data does not support. The text
// must still show the groups, and say why.
func TestDifferencesWithoutSupport(t *testing.T) {
	for verdict, want := range map[api.WorkloadVerdict]string{
		api.WithinNoise: "the difference is within the noise of %s.",
		api.WithinErrors: "the error bounds of the durations are too large to prove a difference between the " +
			"%s.",
		api.TooFew: "%s are too few to prove a difference (%s on average). At least 4 and 4, or 3 and 5 " +
			"start-ups are necessary.",
	} {
		summary := shopSummary()
		summary.Comparison.Difference = difference(verdict, 8.2)
		summary.Images.Difference.Verdict = verdict
		summary.Nodes = nil
		text := strings.Join(strings.Fields(Workload("deployment shop/web", summary, page110)), " ")
		expect := func(who, numbers, means string) {
			t.Helper()
			sentence := strings.NewReplacer("%s are", numbers+" are", "of %s", "of "+numbers, "the %s", "the "+numbers,
				"%s on", means+" on").Replace(want)
			if !strings.Contains(text, who+": "+sentence) {
				t.Errorf("%s: no %q in %s", verdict, who+": "+sentence, text)
			}
		}
		expect("Revisions 41 and 42", "12 and 12 start-ups", "14.4 s and 22.6 s")
		expect("Start-ups with all images on the node, and start-ups with a pull", "18 and 6 start-ups",
			"9.0 s and 47.0 s")
		if strings.Contains(text, "8.2 s") || strings.Contains(text, "if the node had all images") ||
			!strings.Contains(text, "pulled an image 6 47.0 s") {
			t.Errorf("%s: %s", verdict, text)
		}
	}
	summary := shopSummary()
	summary.Images.Difference = nil // each revision has start-ups in only one group
	text := strings.Join(strings.Fields(Workload("deployment shop/web", summary, page110)), " ")
	if !strings.Contains(text, "Start-ups with and without a pull cannot be compared, because") {
		t.Errorf("%s", text)
	}
}

// TestUnprovenPhases requires that the text names phases that the data does not prove, and says so.
func TestUnprovenPhases(t *testing.T) {
	summary := shopSummary()
	summary.Comparison.Difference = difference(api.MoreThanNoise, -8.2)
	text := strings.Join(strings.Fields(Workload("deployment shop/web", summary, page110)), " ")
	want := "revision 42 takes 8.2 s less than 41, but the data does not prove in which phase. This is"
	if !strings.Contains(text, want) {
		t.Errorf("no %q in %s", want, text)
	}
	summary.Comparison.Difference.Unproven = []api.WorkloadPart{
		{Phase: timeline.PhasePull, Cause: timeline.CauseRegistry, Seconds: secs(-6.1), P: 0.06},
		{Phase: timeline.PhaseReadinessProbe, Cause: timeline.CauseApp, Seconds: secs(-2), P: 0.06}}
	text = strings.Join(strings.Fields(Workload("deployment shop/web", summary, page110)), " ")
	want = "8.2 s less than 41, but the data does not prove in which phase (not proven by phase: -6.1 s pulling " +
		"(image 310.0 MiB → 742.0 MiB), -2.0 s until ready). This is more"
	if !strings.Contains(text, want) {
		t.Errorf("no %q in %s", want, text)
	}
}

func TestWorkloadWithoutDurations(t *testing.T) {
	text := Workload("job shop/load", api.WorkloadSummary{StartUps: api.WorkloadCounts{InProgress: 2}}, page110)
	if text != "job shop/load: no completed start-up with a known duration\nnot included: 2 in progress\n" {
		t.Errorf("%q", text)
	}
}

// TestWorkloadIsClean uses names with control characters, as an untrusted server can send them.
func TestWorkloadIsClean(t *testing.T) {
	const evil = "\x1b[2J\u202e\r"
	summary := shopSummary()
	summary.Causes[0].Cause = evil
	summary.Nodes[0].Name = evil
	summary.Revisions[0].Name, summary.Revisions[0].Number, summary.Comparison.To = evil, 0, evil
	summary.Comparison.Difference.Parts[0].Phase = evil
	if text := Workload("x", summary, page110); strings.ContainsAny(text, "\x1b\u202e\r") {
		t.Errorf("%q", text)
	}
}
