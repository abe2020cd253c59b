package report

import (
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
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
