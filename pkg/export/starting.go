package export

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// starting reads the starting pods at each scrape.
type starting struct {
	now          func() []timeline.Timeline
	pods, oldest *prometheus.Desc
}

// NewStarting creates the collector of the starting pods: during a stall it shows where they are
// stuck.
func NewStarting(now func() []timeline.Timeline) prometheus.Collector {
	phase := []string{"phase"}
	return &starting{
		now: now,
		pods: prometheus.NewDesc("podlapse_pods_starting",
			"Pods of this node that are starting, by current phase.", phase, nil),
		oldest: prometheus.NewDesc("podlapse_pods_starting_oldest_age_seconds",
			"Longest time that a pod in podlapse_pods_starting has been in its current phase; 0 if there is none.",
			phase, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *starting) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.pods
	descs <- c.oldest
}

// Collect implements prometheus.Collector; it may run on several goroutines at once.
func (c *starting) Collect(metrics chan<- prometheus.Metric) {
	in := map[timeline.Phase]StartingRecord{}
	for _, r := range StartingRecords(c.now()) {
		in[r.Phase] = r
	}
	for _, phase := range timeline.Phases() {
		r := in[phase]
		metrics <- prometheus.MustNewConstMetric(c.pods, prometheus.GaugeValue, float64(r.Pods), string(phase))
		metrics <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, r.Oldest.Duration().Seconds(),
			string(phase))
	}
}

// StartingRecords returns the phases in which starting pods are, the one that has lasted longest
// first.
func StartingRecords(timelines []timeline.Timeline) []StartingRecord {
	records := []StartingRecord{}
	for k := range timelines {
		t := &timelines[k] // they are large
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
