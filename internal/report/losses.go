package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// leastSeconds is a tolerance in seconds. A smaller lost time can be a rounding error of floating-point sums.
const leastSeconds = 1e-6

// losses contains the lost seconds of all workloads on all nodes, by cause and by workload. byCause and byWorkload have
// the same total. If a cause takes less time than expected, the saved time does not reduce the lost time.
type losses struct {
	byCause    map[timeline.Cause]*loss
	byWorkload map[string]*loss // all workloads that the report compares
}

// loss contains the lost seconds of one cause or one workload.
type loss struct {
	seconds float64
	base    float64 // only for workloads: seconds that are not lost. A workload's factor is (base + seconds) / base
	parts   map[string]float64
}

func (l *loss) add(part string, lost float64) {
	if l.parts == nil {
		l.parts = map[string]float64{}
	}
	l.seconds += lost
	l.parts[part] += lost
}

// largestLoss returns the part with the most lost seconds. If the loss belongs to a workload, each part is a cause. If
// the loss belongs to a cause, each part is one workload on one node.
func (l *loss) largestLoss() (part string, seconds float64) {
	for _, name := range slices.Sorted(maps.Keys(l.parts)) {
		if l.parts[name] > seconds {
			part, seconds = name, l.parts[name]
		}
	}
	return part, seconds
}

func (f *Fleet) losses() losses {
	result := losses{map[timeline.Cause]*loss{}, map[string]*loss{}}
	causes := slices.Sorted(maps.Keys(f.all.causes))
	for _, c := range f.sortedCells() {
		expected := f.expectedTime(c)
		if expected == nil {
			continue
		}
		s := f.cells[c]
		workload := entry(result.byWorkload, c.workload)
		unfinished := float64(s.startUpCount()-s.successCount()) / float64(max(s.startUpCount(), 1))
		for _, cause := range causes {
			observed, should := s.causes[cause], expected(cause)
			if observed <= should+leastSeconds {
				// Unsuccessful start-ups and start-ups in progress can lack later phases, so their observed time can be
				// too short. Therefore, base includes at least the expected time of these start-ups.
				workload.base += max(observed, should*unfinished)
				continue
			}
			workload.base += should
			workload.add(string(cause), observed-should)
			entry(result.byCause, cause).add(c.workload+" on node "+c.node, observed-should)
		}
	}
	return result
}

// expectedTime returns a function for the start-ups of one workload on one node. The function returns the expected
// seconds of these start-ups for a cause. The method tries three groups of start-ups in this order: other workloads on
// other nodes, other workloads on all nodes, and all workloads on other nodes. The expected time comes from the first
// group that has at least leastOthers successful start-ups. If no group has enough successful start-ups, the method
// returns nil. The first group excludes both the workload and the node, because a slow workload or node would increase
// its own expected time.
func (f *Fleet) expectedTime(c cell) func(timeline.Cause) float64 {
	node, workload, both := f.nodes[c.node], f.workloads[c.workload], f.cells[c]
	for _, others := range []struct{ without, with []*sum }{
		{[]*sum{node, workload}, []*sum{both}}, {[]*sum{workload}, nil}, {[]*sum{node}, nil},
	} {
		count := f.all.successCount()
		for _, s := range others.without {
			count -= s.successCount()
		}
		for _, s := range others.with {
			count += s.successCount()
		}
		if count < leastOthers {
			continue
		}
		return func(cause timeline.Cause) float64 {
			seconds := f.all.finished[cause]
			for _, s := range others.without {
				seconds -= s.finished[cause]
			}
			for _, s := range others.with {
				seconds += s.finished[cause]
			}
			return max(seconds, 0) / float64(count) * float64(both.startUpCount())
		}
	}
	return nil
}

func (f *Fleet) sortedCells() []cell {
	cells := slices.Collect(maps.Keys(f.cells))
	slices.SortFunc(cells, func(x, y cell) int {
		return cmp.Or(cmp.Compare(x.workload, y.workload), cmp.Compare(x.node, y.node))
	})
	return cells
}

func (l losses) causeRows(f *Fleet) []Row {
	var rows []Row
	for cause, lost := range l.byCause {
		row := Row{Name: string(cause), Lost: fromSeconds(lost.seconds), Seconds: fromSeconds(f.all.causes[cause])}
		if row.Lost.Duration() < leastLost {
			continue
		}
		row.setMost(lost)
		row.Sentence = causeSentence(row, "in")
		rows = append(rows, row)
	}
	return rows
}

// tooFew is the note of a section without a comparison.
const tooFew = "too few successful start-ups for a comparison"

func (l losses) causeNote(f *Fleet) string {
	if len(f.cells) > 1 && len(l.byWorkload) == 0 {
		return tooFew
	}
	return noteOf(len(f.cells) < 2, "a single workload on a single node has nothing to compare with",
		"no start-ups take more time than the others")
}

func (l losses) workloadNote(f *Fleet) string {
	compared := func(name string) bool { return f.canCompare(f.workloads[name]) }
	if len(f.workloads) > 1 && !slices.ContainsFunc(slices.Collect(maps.Keys(l.byWorkload)), compared) {
		return tooFew
	}
	return noteOf(len(f.workloads) < 2, "a single workload has no other workloads to compare with",
		"no workload takes more time per start-up than the other workloads")
}

// canCompare reports whether the other workloads have enough successful start-ups for a comparison with a
// workload.
func (f *Fleet) canCompare(s *sum) bool { return f.all.successCount()-s.successCount() >= leastOthers }

func (l losses) workloadRows(f *Fleet) []Row {
	var rows []Row
	for name, lost := range l.byWorkload {
		s := f.workloads[name]
		row := Row{Name: name, Lost: fromSeconds(lost.seconds), Seconds: fromSeconds(s.seconds), StartUps: s.startUps,
			Failures: s.failures, InProgress: s.inProgress}
		if s.other || !f.canCompare(s) || row.Lost.Duration() < leastLost {
			continue
		}
		if lost.base > 0 {
			row.Factor = new(1 + lost.seconds/lost.base)
		}
		row.setMost(lost)
		row.Sentence = workloadSentence(row)
		rows = append(rows, row)
	}
	return rows
}

func (r *Row) setMost(l *loss) {
	part, seconds := l.largestLoss()
	r.Most, r.MostLost = part, fromSeconds(seconds)
}
