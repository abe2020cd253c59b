package api

import (
	"cmp"
	"slices"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// StartingRecords returns the current phases of starting pods. The phase that has lasted longest comes first.
func StartingRecords(timelines []timeline.Timeline) []StartingRecord {
	records := []StartingRecord{}
	for k := range timelines {
		t := &timelines[k] // no copy, because timelines are large
		if t.State != timeline.StateStarting || len(t.Phases) == 0 {
			continue
		}
		last := t.Phases[len(t.Phases)-1]
		i := slices.IndexFunc(records, func(r StartingRecord) bool { return r.Phase == last.Phase })
		if i < 0 {
			i = len(records)
			records = append(records, StartingRecord{Phase: last.Phase, Cause: timeline.CauseOf(last.Phase)})
		}
		records[i].Pods++
		records[i].Oldest = max(records[i].Oldest, Seconds(last.Duration()))
	}
	slices.SortStableFunc(records, func(a, b StartingRecord) int {
		return cmp.Or(cmp.Compare(b.Oldest, a.Oldest), cmp.Compare(a.Phase, b.Phase))
	})
	return records
}
