package whatif

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// changeKey identifies a change of a workload.
type changeKey struct {
	change    api.WhatIf
	container string
}

// Means returns the mean predicted effect of each change on a workload's start-ups. The change that saves the most time
// in all start-ups together comes first. The second result lists changes that have no prediction in any start-up, but
// that might save much time in at least half of the completed start-ups. The order of the records and repeated records
// do not affect the results.
func Means(records []api.Record) ([]api.WhatIfMean, []api.WhatIfUnknown) {
	found, without := map[changeKey]*total{}, map[changeKey]*unknownTotal{}
	completed := 0
	for _, record := range latestRecords(records) {
		if record.State != timeline.StateReady && record.State != timeline.StateSucceeded {
			continue
		}
		if !record.HasDuration() {
			continue // the workload's summary also excludes start-ups of unknown duration
		}
		completed++
		predictions, unknown := Predict(*record)
		for _, u := range unknown {
			k := changeKey{u.Change, u.Container}
			if without[k] == nil {
				without[k] = &unknownTotal{texts: map[[2]string]int{}, reasons: map[string]int{}}
			}
			without[k].add(u)
		}
		for _, p := range predictions {
			k := changeKey{p.Change, p.Container}
			if found[k] == nil {
				found[k] = &total{texts: map[[2]string]int{}}
			}
			found[k].add(record, p)
		}
	}
	means := make([]api.WhatIfMean, 0, len(found))
	for k, t := range found {
		m := t.average()
		m.Change, m.Container, m.Of = k.change, k.container, completed
		m.Text, m.Assumption = commonText(t.texts, k)
		m.Effect = meanText(m)
		means = append(means, m)
	}
	slices.SortFunc(means, func(a, b api.WhatIfMean) int {
		saved := func(m api.WhatIfMean) float64 {
			return (m.GainLeast + m.GainMost).Duration().Seconds() * float64(m.StartUps)
		}
		return cmp.Or(cmp.Compare(saved(b), saved(a)), cmp.Compare(a.Change, b.Change),
			cmp.Compare(a.Container, b.Container))
	})
	for k := range found {
		delete(without, k)
	}
	return means, mostUnknown(without, completed)
}

// unknownTotal counts the start-ups in which the effect of one change is unknown.
type unknownTotal struct {
	n       int
	texts   map[[2]string]int // see total
	reasons map[string]int
}

func (t *unknownTotal) add(u api.WhatIfUnknown) {
	t.n++
	t.texts[[2]string{u.Text}]++
	t.reasons[u.Reason]++
}

// mostUnknown returns the changes whose effect is unknown in at least half of the completed start-ups. For each change,
// the result contains the most common reason.
func mostUnknown(without map[changeKey]*unknownTotal, completed int) (unknown []api.WhatIfUnknown) {
	for k, t := range without {
		if 2*t.n < completed {
			continue
		}
		u := api.WhatIfUnknown{Change: k.change, Container: k.container}
		u.Text, _ = commonText(t.texts, k)
		for reason, n := range t.reasons {
			if most := t.reasons[u.Reason]; n > most || n == most && reason < u.Reason {
				u.Reason = reason
			}
		}
		unknown = append(unknown, u)
	}
	slices.SortFunc(unknown, func(a, b api.WhatIfUnknown) int {
		return cmp.Or(cmp.Compare(a.Change, b.Change), cmp.Compare(a.Container, b.Container))
	})
	return unknown
}

// latestRecords returns the latest record of each start-up.
func latestRecords(records []api.Record) []*api.Record {
	latest := map[string]*api.Record{}
	for i := range records {
		record := &records[i]
		id := cmp.Or(record.ID, record.Namespace+"/"+record.Name+"/"+record.UID)
		if known := latest[id]; known == nil || known.Partial && !record.Partial ||
			known.Partial == record.Partial && record.SettledAt.After(known.SettledAt.Time) {
			latest[id] = record
		}
	}
	return slices.Collect(maps.Values(latest))
}

// total holds the sums of the predictions for one change. Durations are at most maxLength, so sums in float64 are
// precise enough for means in microseconds.
type total struct {
	n                                      int
	total, low, high, gain, gainLow, gains float64
	texts                                  map[[2]string]int // the number of predictions for each text and assumption
}

func (t *total) add(record *api.Record, p api.WhatIfRecord) {
	t.n++
	t.total += record.Total.Duration().Seconds()
	t.low += p.TotalLeast.Duration().Seconds()
	t.high += p.TotalMost.Duration().Seconds()
	t.gain += p.Gain.Duration().Seconds()
	t.gainLow += p.GainLeast.Duration().Seconds()
	t.gains += p.GainMost.Duration().Seconds()
	t.texts[[2]string{p.Text, p.Assumption}]++
}

// average returns the mean, rounded to microseconds.
func (t *total) average() api.WhatIfMean {
	of := func(sum float64) api.Seconds {
		return api.Seconds(time.Duration(sum / float64(t.n) * float64(time.Second)).Round(time.Microsecond))
	}
	return api.WhatIfMean{StartUps: t.n, Total: of(t.total),
		TotalLeast: of(t.low), TotalMost: of(t.high), Gain: of(t.gain), GainLeast: of(t.gainLow), GainMost: of(t.gains)}
}

// commonText returns a text and an assumption that are true for all predictions of a change. The predictions of one
// change can have different texts, for example because each pod lacked a different ConfigMap.
func commonText(texts map[[2]string]int, of changeKey) (text, assumption string) {
	var first [2]string
	for both := range texts {
		if first[0] == "" || slices.Compare(both[:], first[:]) < 0 {
			first = both
		}
	}
	if len(texts) == 1 {
		return first[0], first[1]
	}
	switch of.change {
	case api.WhatIfImages:
		return "with the images on the node", first[1]
	case api.WhatIfParallelPulls:
		return "with more pulls at a time", first[1]
	case api.WhatIfConfig:
		return configurationText(of.container), configurationAssumption
	}
	return first[0], first[1]
}
