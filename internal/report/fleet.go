package report

import (
	"cmp"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Fleet adds up the sums of all nodes. The memory of a Fleet grows with the number of nodes and their workloads, but
// not with the number of start-ups.
type Fleet struct {
	since, until time.Time // as requested
	factors      *factor.Fleet
	nodes        map[string]*sum // start-ups of each node
	workloads    map[string]*sum // start-ups of each workload, by its name
	cells        map[cell]*sum   // start-ups of each workload on each node
	images       map[string]*imageSum
	all          sum
	pulls        api.PullTotals
	late         int       // number of nodes whose sums might not cover the whole report
	complete     time.Time // latest known ReportRecord.Since of the late nodes
	unknown      bool      // true if ReportRecord.Since is unknown for at least one node
}

// cell identifies one workload on one node.
type cell struct{ node, workload string }

// sum contains the totals of some start-ups.
type sum struct {
	startUps, failures, inProgress int // the number startUps excludes start-ups in progress
	seconds                        float64
	causes                         map[timeline.Cause]float64
	other                          bool // true if the start-ups belong to several workloads
	// finished contains the seconds of the successful start-ups, by cause. The expected time uses only the successful
	// start-ups, because other start-ups can lack later phases.
	finished map[timeline.Cause]float64
}

// startUpCount returns the number of all start-ups, including start-ups in progress.
func (s *sum) startUpCount() int { return s.startUps + s.inProgress }

// successCount returns the number of successful start-ups.
func (s *sum) successCount() int { return s.startUps - s.failures }

func (s *sum) add(item api.ReportItem) {
	s.startUps += item.StartUps
	s.failures += item.Failures
	s.inProgress += item.InProgress
	s.seconds += item.Total.Duration().Seconds()
	if s.causes == nil {
		s.causes, s.finished = map[timeline.Cause]float64{}, map[timeline.Cause]float64{}
	}
	for _, c := range item.Causes {
		s.causes[c.Cause] += c.Length.Duration().Seconds()
		s.finished[c.Cause] += (c.Length - c.Unfinished).Duration().Seconds()
	}
}

// imageSum contains the totals of the pulls of one image.
type imageSum struct {
	api.PullTotals
	other bool // true if the pulls belong to several images
}

// NewFleet returns an empty fleet for a report that covers the time between the arguments "since" and "until". Agents
// keep sums for whole hours, so the report begins at a full hour: see Beginning.
func NewFleet(since, until time.Time) *Fleet {
	return &Fleet{since: since, until: until, factors: factor.NewFleetOver("this time"), nodes: map[string]*sum{},
		workloads: map[string]*sum{}, cells: map[cell]*sum{}, images: map[string]*imageSum{}}
}

// Beginning returns the time at which the report begins: the beginning of the hour that contains the requested time.
func (f *Fleet) Beginning() time.Time { return f.since.UTC().Truncate(time.Hour) }

// Add adds the sums of a node. The caller must add each node only once. The sums are complete from the time sums.Since.
// If sums.Since is zero, this time is unknown.
func (f *Fleet) Add(node string, sums api.ReportRecord) {
	if sums.Totals != nil {
		f.factors.Add(node, *sums.Totals)
	}
	f.addBeginning(sums.Since.Time)
	entry(f.nodes, node) // a node without start-ups is also part of the fleet
	for _, item := range sums.Items {
		switch item.Kind {
		case api.ReportWorkload:
			name := workloadName(item)
			for _, s := range []*sum{&f.all, entry(f.nodes, node), entry(f.workloads, name),
				entry(f.cells, cell{node, name})} {
				s.add(item)
			}
			f.workloads[name].other = item.Other
		case api.ReportImage:
			image := f.images[item.Image]
			if image == nil {
				image = &imageSum{other: item.Other}
				f.images[item.Image] = image
			}
			image.Add(item.Pulls)
			f.pulls.Add(item.Pulls)
		}
	}
}

// addBeginning updates the fields late, unknown and complete for one node. The sums of this node are complete from the
// time "begin".
func (f *Fleet) addBeginning(begin time.Time) {
	if all := !begin.IsZero() && !begin.After(f.Beginning()); all || f.keptAll(begin) {
		return
	}
	f.late++
	f.unknown = f.unknown || begin.IsZero()
	if begin.After(f.complete) {
		f.complete = begin
	}
}

// completeSince returns the time from which the sums of all nodes are complete. If this time is unknown, the result is
// zero.
func (f *Fleet) completeSince() api.Instant {
	switch {
	case f.unknown || len(f.nodes) == 0:
		return api.Instant{}
	case f.late == 0:
		return api.InstantOf(f.Beginning())
	case f.complete.After(f.until): // the clock of the agent is ahead
		return api.InstantOf(f.until)
	}
	return api.InstantOf(f.complete)
}

// keptAll reports whether "begin" is a full hour that is less than a minute after the requested time. If the clock of
// an agent is ahead, the agent removes its oldest hour a little too early. Therefore, sums that begin less than a
// minute too late count as complete.
func (f *Fleet) keptAll(begin time.Time) bool {
	return begin.Equal(begin.UTC().Truncate(time.Hour)) && !begin.Before(f.since) && begin.Sub(f.since) < time.Minute
}

// entry returns the value of a key. If the key is missing, entry adds it with a zero value.
func entry[K comparable, V any](values map[K]*V, key K) *V {
	if values[key] == nil {
		values[key] = new(V)
	}
	return values[key]
}

func workloadName(item api.ReportItem) string {
	if item.Other {
		return "other workloads"
	}
	return WorkloadName(item.Namespace, item.Owner.Kind, item.Owner.Name)
}

// WorkloadName returns the name of a workload in the form that the command explain uses, for example "deployment
// shop/web". For pods without an owner, the argument "name" is empty.
func WorkloadName(namespace, kind, name string) string {
	if name == "" {
		return "pods without an owner in " + namespace
	}
	return strings.ToLower(cmp.Or(kind, "workload")) + " " + namespace + "/" + name
}
