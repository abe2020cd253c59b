package report

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestBeginningOfSums has agents whose sums begin after the report. If a clock is ahead, the sums can begin at the next
// full hour.
func TestBeginningOfSums(t *testing.T) {
	since := noon.Add(-2 * time.Second)
	for begin, late := range map[time.Time]int{noon.Add(-time.Hour): 0, noon: 0, noon.Add(time.Minute): 1,
		noon.Add(-30 * time.Minute): 1, noon.Add(time.Hour): 1} {
		f := NewFleet(since, noon)
		f.Add("a", api.ReportRecord{Since: api.InstantOf(begin)})
		if f.late != late {
			t.Errorf("%s: %d late", begin, f.late)
		}
		r := f.Report(1)
		if !r.Since.Equal(noon.Add(-time.Hour)) || !strings.HasPrefix(r.Summary, "2026-03-02 11:00 to") {
			t.Errorf("the report begins at %s: %s", r.Since, r.Summary)
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
