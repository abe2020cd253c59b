package report

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestSumsOfTheLastMinute has sums that begin in the minute in which the report ends. The stated beginning must not be
// later than the stated end.
func TestSumsOfTheLastMinute(t *testing.T) {
	f := NewFleet(noon.Add(-time.Hour), noon.Add(50*time.Second))
	f.Add("a", api.ReportRecord{Since: api.InstantOf(noon.Add(20 * time.Second))})
	const want = " to 2026-03-02 12:00 UTC: 1 node (1 with data only since 2026-03-02 12:00), "
	if got := f.Report(1).Summary; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBeginningOfSums has agents whose sums begin after the report. If a clock is ahead, the sums can begin at the next
// full hour. But an agent that had too little memory for its sums also begins at a full hour.
func TestBeginningOfSums(t *testing.T) {
	const period = "2026-03-02 08:00 to 2026-03-02 12:00 UTC: "
	at := func(hour, minute, second int) time.Time {
		return noon.Add(time.Duration(hour-12)*time.Hour + time.Duration(minute)*time.Minute +
			time.Duration(second)*time.Second)
	}
	for _, test := range []struct {
		since    time.Time
		begin    []time.Time // zero if unknown
		late     int
		complete time.Time
		want     string
	}{
		{at(8, 59, 58), []time.Time{at(8, 0, 0)}, 0, at(8, 0, 0), "1 node, "},
		{at(8, 59, 58), []time.Time{at(7, 0, 0), at(9, 0, 0)}, 0, at(8, 0, 0), "2 nodes, "},
		{at(8, 5, 0), []time.Time{at(8, 0, 0), at(9, 0, 0)}, 1, at(9, 0, 0),
			"2 nodes (1 with data only since 2026-03-02 09:00), "},
		{at(8, 0, 0), []time.Time{at(8, 30, 0), at(11, 40, 1), at(8, 0, 0)}, 2, at(11, 40, 1),
			"3 nodes (2 with data only since 2026-03-02 11:41 or earlier), "},
		{at(8, 0, 0), []time.Time{at(12, 5, 0)}, 1, noon, "1 node (1 with data only since 2026-03-02 12:00), "},
		{at(8, 0, 0), []time.Time{at(8, 30, 0), {}, at(8, 0, 0)}, 2, time.Time{}, "3 nodes (2 with incomplete data), "},
		{at(8, 0, 0), nil, 0, time.Time{}, "0 nodes, "},
	} {
		f := NewFleet(test.since, noon)
		for i, begin := range test.begin {
			f.Add(fmt.Sprint(i), api.ReportRecord{Since: api.InstantOf(begin)})
		}
		r := f.Report(1)
		if f.late != test.late || !r.CompleteSince.Equal(test.complete) || !r.Since.Equal(at(8, 0, 0)) ||
			!strings.HasPrefix(r.Summary, period+test.want) {
			t.Errorf("%d late, complete since %s, %q, want %d, %s, %q", f.late, r.CompleteSince, r.Summary, test.late,
				test.complete, period+test.want)
		}
	}
}

// TestRandomDifferences has equal workloads on equal nodes, and pulls whose durations have a standard deviation of 2 s.
// The random lost time must be as large as docs/report.md states.
func TestRandomDifferences(t *testing.T) {
	document, err := os.ReadFile("../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	random := orders()
	for _, startUps := range []int{1, 4, 16, 64} {
		f := NewFleet(noon.Add(-24*time.Hour), noon)
		for node := range 100 {
			var sums api.ReportRecord
			for workload := range 40 {
				item := api.ReportItem{Kind: api.ReportWorkload, Namespace: "shop", StartUps: startUps,
					Owner: api.OwnerRecord{Kind: "Deployment", Name: fmt.Sprint(workload)}}
				for range startUps {
					item.Total += fromSeconds(max(20+2*random.NormFloat64(), 0))
				}
				item.Causes = []api.CauseTotals{{Cause: timeline.CauseRegistry, Length: item.Total}}
				sums.Items = append(sums.Items, item)
			}
			f.Add(fmt.Sprint(node), sums)
		}
		r := f.Report(5)
		lost := r.Lost.Duration().Seconds() / float64(r.StartUps)
		if row := fmt.Sprintf("\n| %d | %.1f s |\n", startUps, lost); !strings.Contains(string(document), row) {
			t.Errorf("docs/report.md lacks the row %q", row)
		}
	}
}

// TestFaultAmongRandomDifferences has the example of docs/report.md: 200 nodes start 10 equal workloads once, and the
// durations have a standard deviation of 2 s. A fault of one node hardly changes the total lost time, but the section
// of nodes must show the fault.
func TestFaultAmongRandomDifferences(t *testing.T) {
	random := orders()
	var lost []float64
	for _, delay := range []int{0, 20} {
		var starts []start
		for node := range 200 {
			for workload := range 10 {
				s := start{node: fmt.Sprint(node), owner: fmt.Sprint(workload), ready: 1,
					network: max(int(math.Round(9+2*random.NormFloat64())), 1)}
				if node == 0 {
					s.network += delay
				}
				starts = append(starts, s)
			}
		}
		r := reportOf(random, starts)
		lost = append(lost, r.Lost.Duration().Seconds())
		worst, next := r.Nodes.Rows[0], r.Nodes.Rows[1]
		if next.Lost.Duration() > 30*time.Second || delay == 0 && worst.Lost.Duration() > 30*time.Second ||
			delay > 0 && (worst.Name != "0" || worst.Lost.Duration() < 170*time.Second || *worst.Factor < 2.5) {
			t.Errorf("a delay of %d s: the first two nodes are\n%s\n%s", delay, worst.Sentence, next.Sentence)
		}
	}
	if lost[0] < 1500 || lost[0] > 1700 || lost[1] < lost[0] || lost[1] > lost[0]+200 {
		t.Errorf("lost seconds without and with the fault: %v, docs/report.md states 1,600 and 1,700", lost)
	}
}

// TestNothingLost checks the summary of a fleet without any difference.
func TestNothingLost(t *testing.T) {
	r := reportOf(orders(), several(10, start{node: "a", owner: "one", ready: 3}),
		several(10, start{node: "b", owner: "two", ready: 3}))
	if !strings.HasSuffix(r.Summary, "The start-ups took 60 s. None of this time was lost.") {
		t.Error(r.Summary)
	}
}
