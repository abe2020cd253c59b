package factor

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TimeWindow selects start-ups by the time when they ended. A zero Since means that the window has no start. A zero
// Until means the present.
type TimeWindow struct{ Since, Until time.Time }

// Contains returns true if a start-up that ended at settledAt is in the window. A start-up in progress has a zero
// settledAt. Only a window with a zero Until contains start-ups in progress.
func (w TimeWindow) Contains(settledAt time.Time) bool {
	if settledAt.IsZero() {
		return w.Until.IsZero()
	}
	return !settledAt.Before(w.Since) && (w.Until.IsZero() || settledAt.Before(w.Until))
}

// Totals adds up the start-ups of one node. The memory of a Totals grows with the number of registries, but not with
// the number of start-ups.
type Totals struct {
	window     TimeWindow
	sums       api.TotalsRecord
	phases     map[timeline.Phase]api.PhaseTotals
	merged     map[timeline.Phase]bool
	registries map[string]*registryTotals
}

type registryTotals struct {
	api.RegistryTotals
	durations durationBuckets
}

// NewTotals returns empty totals for the start-ups of a node.
func NewTotals(node string, window TimeWindow) *Totals {
	return &Totals{
		window: window, sums: api.TotalsRecord{Node: node}, phases: map[timeline.Phase]api.PhaseTotals{},
		merged: map[timeline.Phase]bool{}, registries: map[string]*registryTotals{},
	}
}

// Add adds a start-up to the totals if the start-up is in the window. The caller must add each start-up only once.
func (t *Totals) Add(record api.Record) {
	starting := record.State == timeline.StateStarting
	if starting != record.SettledAt.IsZero() || !t.window.Contains(record.SettledAt.Time) {
		return
	}
	t.addState(record)
	if starting || record.Reconstructed {
		return
	}
	t.sums.Ended++
	t.sums.Unreported += len(record.Unreported)
	if record.State == timeline.StateReady || record.State == timeline.StateSucceeded {
		t.sums.Started++
		for _, phase := range record.Phases {
			t.addPhase(phase)
		}
	}
	for _, pull := range record.Pulls {
		if pull.IsPull() {
			t.addContent(pull)
		}
	}
}

// addState creates an entry in the totals for the registry of each pull. addState also counts the pulls in progress and
// the failed pulls of each registry.
func (t *Totals) addState(record api.Record) {
	for _, pull := range record.Pulls {
		if !pull.IsPull() {
			continue
		}
		r := t.registry(pull.Registry)
		switch {
		case pull.Outcome == imagepull.OutcomePulling && record.State == timeline.StateStarting:
			r.InProgress++
		case pull.Outcome == imagepull.OutcomeFailed && (pull.FinishedAt.IsZero() ||
			t.window.Contains(pull.FinishedAt.Time)):
			r.Failures++
		}
	}
}

func (t *Totals) addPhase(phase api.PhaseRecord) {
	sum := t.phases[phase.Phase]
	t.phases[phase.Phase] = api.PhaseTotals{Phase: phase.Phase, Length: sum.Length + phase.Length, Steps: sum.Steps + 1}
	for _, merged := range phase.MergedWith {
		t.merged[merged] = true
	}
}

// addContent adds the bytes, the duration and the unpacking time of a pull. The agent adds the same values to these
// metrics: podlapse_image_pull_duration_seconds{outcome="downloaded"}, podlapse_image_pull_bytes_total,
// podlapse_image_unpack_duration_seconds, and the metrics of sized pulls.
func (t *Totals) addContent(pull api.PullRecord) {
	r := t.registry(pull.Registry)
	if pull.Unpack != nil {
		r.Unpack += pull.Unpack.Busy
	}
	if pull.Resumed {
		return
	}
	if pull.Download != nil && pull.Download.Bytes > 0 {
		r.Bytes += pull.Download.Bytes
	}
	if pull.Sized && pull.Pull != nil && pull.Download != nil {
		r.addSized(pull)
	}
	if pull.Outcome == imagepull.OutcomeDownloaded && pull.Pull != nil {
		r.Pulls++
		r.Length += *pull.Pull
		r.durations.add(pull.Pull.Duration())
	}
}

func (r *registryTotals) addSized(pull api.PullRecord) {
	r.Sized.Pulls++
	r.Sized.Length += *pull.Pull
	r.Sized.Bytes += pull.Download.Bytes
	if pull.Unpack != nil {
		r.Sized.Unpack += pull.Unpack.Busy
	}
}

func (t *Totals) registry(name string) *registryTotals {
	name = cmp.Or(name, imagepull.UnknownRegistry)
	r := t.registries[name]
	if r == nil {
		r = &registryTotals{RegistryTotals: api.RegistryTotals{Registry: name}, durations: durationBuckets{}}
		t.registries[name] = r
	}
	return r
}

// Record returns the totals in the form of the API's response.
func (t *Totals) Record() api.TotalsRecord {
	sums := t.sums
	sums.Phases = []api.PhaseTotals{}
	sums.Merged = append([]timeline.Phase{}, slices.Sorted(maps.Keys(t.merged))...)
	for _, phase := range slices.Sorted(maps.Keys(t.phases)) {
		sums.Phases = append(sums.Phases, t.phases[phase])
	}
	sums.Registries = []api.RegistryTotals{}
	for _, r := range t.limitedRegistries() {
		r.Durations = r.durations.list()
		sums.Registries = append(sums.Registries, r.RegistryTotals)
	}
	return sums
}

// limitedRegistries returns the totals of each registry, sorted by name. If there are too many registries, one entry
// contains the sum of the registries with the fewest pulls.
func (t *Totals) limitedRegistries() []*registryTotals {
	all := slices.Collect(maps.Values(t.registries))
	slices.SortFunc(all, func(x, y *registryTotals) int {
		return cmp.Or(cmp.Compare(y.uses(), x.uses()), cmp.Compare(x.Registry, y.Registry))
	})
	if len(all) > api.MaxRegistryTotals {
		other := &registryTotals{
			RegistryTotals: api.RegistryTotals{Registry: api.OtherRegistries}, durations: durationBuckets{},
		}
		for _, r := range all[api.MaxRegistryTotals:] {
			other.merge(r)
		}
		all = append(all[:api.MaxRegistryTotals], other)
	}
	slices.SortFunc(all, func(x, y *registryTotals) int { return cmp.Compare(x.Registry, y.Registry) })
	return all
}

func (r *registryTotals) uses() int { return r.Pulls + r.Failures + r.InProgress }

func (r *registryTotals) merge(from *registryTotals) {
	r.Add(from.PullTotals)
	r.Unpack += from.Unpack
	for _, b := range from.durations {
		r.durations.merge(b)
	}
}
