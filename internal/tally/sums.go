package tally

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unsafe"

	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Limits on the sums of one hour. A node has about a hundred pods.
const (
	maxWorkloads  = 200
	maxImages     = 200
	maxRegistries = 50
)

// The estimated memory of each part of a Sums, in bytes. The estimates exclude the memory of texts. An entry of a map
// also needs memory for its key, and maps have spare slots.
const (
	baseSize     = 8 << 10
	itemSize     = int(unsafe.Sizeof(api.ReportItem{})) + 2*(int(unsafe.Sizeof(key{}))+8) + 32
	causeSize    = int(unsafe.Sizeof(api.CauseTotals{}))
	registrySize = int(unsafe.Sizeof(api.RegistryTotals{})) + 2*24 + 32
	// othersSize is the memory that is reserved for the "other" entries.
	othersSize = 2*itemSize + 32*causeSize + registrySize
)

// key identifies an item. The field "name" is the name of the owner or the image.
type key struct {
	kind                   api.ReportKind
	namespace, owner, name string
	other                  bool
}

func keyOf(i api.ReportItem) key {
	return key{i.Kind, i.Namespace, i.Owner.Kind, cmp.Or(i.Owner.Name, i.Image), i.Other}
}

// Sums contains the sums of some start-ups of one node. A Sums is not safe for concurrent use.
type Sums struct {
	totals     api.TotalsRecord // totals of the node; the fields Phases, Merged and Registries are empty
	phases     map[timeline.Phase]api.PhaseTotals
	merged     map[timeline.Phase]bool
	registries map[string]*api.RegistryTotals
	items      map[key]*api.ReportItem
	counts     map[api.ReportKind]int // number of items of each kind, without the "other" item
	bytes      int
	hour       bool // true if maxWorkloads, maxImages, maxRegistries and the field "limit" apply
	limit      int  // maximum size of the sums in bytes; see wouldExceedLimit
}

// NewSums returns empty sums. The number of items has no limit.
func NewSums(node string) *Sums {
	return &Sums{
		totals: api.TotalsRecord{Node: node}, phases: map[timeline.Phase]api.PhaseTotals{},
		merged: map[timeline.Phase]bool{}, registries: map[string]*api.RegistryTotals{},
		items: map[key]*api.ReportItem{}, counts: map[api.ReportKind]int{}, bytes: baseSize,
	}
}

// newHour returns empty sums with limits.
func newHour(node string) *Sums {
	s := NewSums(node)
	s.hour = true
	return s
}

// wouldExceedLimit reports whether a new entry of the given size would exceed the limit of the sums.
func (s *Sums) wouldExceedLimit(size int) bool { return s.hour && s.bytes+size+othersSize > s.limit }

// Add adds a start-up. The caller must add each start-up only once. Add ignores reconstructed start-ups (see
// api.Record), and ended start-ups that are not settled yet. Add also ignores start-ups during which the
// node's clock was set, because their duration is unknown.
func (s *Sums) Add(record api.Record) {
	starting := record.State == timeline.StateStarting
	if starting != record.SettledAt.IsZero() || record.Reconstructed || record.ClockWasSet() {
		return
	}
	totals := totalsOf(record)
	s.addTotals(totals)
	s.add(workloadOf(record, totals))
	for _, image := range imagesOf(record) {
		s.add(image)
	}
}

func totalsOf(record api.Record) api.TotalsRecord {
	totals := factor.NewTotals(record.Node, factor.TimeWindow{})
	totals.Add(record)
	return totals.Record()
}

func workloadOf(record api.Record, totals api.TotalsRecord) api.ReportItem {
	item := api.ReportItem{Kind: api.ReportWorkload, Namespace: record.Namespace, Owner: record.Owner,
		Total: record.Total, Pulls: pullsOf(totals)}
	switch record.State {
	case timeline.StateStarting:
		item.InProgress, item.Unfinished = 1, record.Total
	case timeline.StateReady, timeline.StateSucceeded:
		item.StartUps = 1
	default:
		item.StartUps, item.Failures, item.Unfinished = 1, 1, record.Total
	}
	for _, phase := range record.Phases {
		cause := api.CauseTotals{Cause: phase.Cause, Length: phase.Length}
		if item.Unfinished > 0 {
			cause.Unfinished = phase.Length
		}
		item.AddCause(cause)
	}
	return item
}

// imagesOf returns an item for each image that the start-up pulled. To compute the totals of one image, imagesOf copies
// the record and keeps only the pulls of this image.
func imagesOf(record api.Record) []api.ReportItem {
	byImage := map[string][]api.PullRecord{}
	for _, pull := range record.Pulls {
		if pull.IsPull() {
			byImage[pull.Image] = append(byImage[pull.Image], pull)
		}
	}
	items := make([]api.ReportItem, 0, len(byImage))
	for _, image := range slices.Sorted(maps.Keys(byImage)) {
		part := record
		part.Phases, part.Pulls = nil, byImage[image]
		items = append(items, api.ReportItem{Kind: api.ReportImage, Namespace: record.Namespace, Image: image,
			Registry: part.Pulls[0].Registry, Pulls: pullsOf(totalsOf(part))})
	}
	return items
}

func pullsOf(totals api.TotalsRecord) api.PullTotals {
	var sum api.PullTotals
	for _, r := range totals.Registries {
		sum.Add(r.PullTotals)
	}
	return sum
}

// Merge adds all totals and items of the argument "other".
func (s *Sums) Merge(other *Sums) {
	record := other.Record()
	s.addTotals(*record.Totals)
	for _, item := range record.Items {
		s.add(item)
	}
}

func (s *Sums) addTotals(totals api.TotalsRecord) {
	s.totals.Ended += totals.Ended
	s.totals.Started += totals.Started
	s.totals.Unreported += totals.Unreported
	for _, p := range totals.Phases {
		sum := s.phases[p.Phase]
		s.phases[p.Phase] = api.PhaseTotals{Phase: p.Phase, Length: sum.Length + p.Length, Steps: sum.Steps + p.Steps}
	}
	for _, phase := range totals.Merged {
		s.merged[phase] = true
	}
	for _, from := range totals.Registries {
		r := s.registryTotals(from.Registry)
		r.Add(from.PullTotals)
		r.Unpack += from.Unpack
	}
}

// registryTotals returns the totals of a registry. If the registry is new, registryTotals adds it. If a limit prevents
// a new registry, registryTotals returns the combined totals of all other registries.
func (s *Sums) registryTotals(name string) *api.RegistryTotals {
	if r := s.registries[name]; r != nil {
		return r
	}
	size, most := registrySize+len(name), api.MaxRegistryTotals
	if s.hour {
		most = maxRegistries
	}
	named := len(s.registries)
	if s.registries[api.OtherRegistries] != nil {
		named--
	}
	if name != api.OtherRegistries && (named >= most || s.wouldExceedLimit(size)) {
		name = api.OtherRegistries
		if r := s.registries[name]; r != nil {
			return r
		}
	}
	name = strings.Clone(name)
	r := &api.RegistryTotals{Registry: name, Durations: []api.DurationBucket{}}
	s.registries[name] = r
	s.bytes += size
	return r
}

// add adds the sums of one item to the item with the same key. If a limit prevents a new item, add uses the "other"
// item.
func (s *Sums) add(from api.ReportItem) {
	k := keyOf(from)
	item := s.items[k]
	if item == nil {
		item = s.newItem(k, from)
	}
	before := cap(item.Causes)
	item.Add(from)
	s.bytes += (cap(item.Causes) - before) * causeSize
}

func (s *Sums) newItem(k key, from api.ReportItem) *api.ReportItem {
	most := maxWorkloads
	if k.kind == api.ReportImage {
		most = maxImages
	}
	names := api.ReportItem{Kind: from.Kind, Namespace: strings.Clone(from.Namespace), Image: strings.Clone(from.Image),
		Owner:    api.OwnerRecord{Kind: strings.Clone(from.Owner.Kind), Name: strings.Clone(from.Owner.Name)},
		Registry: strings.Clone(from.Registry), Other: from.Other}
	size := itemSize + sizeOfNames(names) + len(from.Causes)*causeSize
	switch {
	case from.Other:
	case s.hour && s.counts[k.kind] >= most || s.wouldExceedLimit(size):
		k = key{kind: k.kind, other: true}
		if item := s.items[k]; item != nil {
			return item
		}
		names = api.ReportItem{Kind: k.kind, Other: true}
	default:
		s.counts[k.kind]++
	}
	item := &names
	item.Causes = make([]api.CauseTotals, 0, len(from.Causes))
	s.bytes += itemSize + sizeOfNames(names) + cap(item.Causes)*causeSize
	s.items[keyOf(names)] = item
	return item
}

func sizeOfNames(i api.ReportItem) int {
	return len(i.Namespace) + len(i.Owner.Kind) + len(i.Owner.Name) + len(i.Image) + len(i.Registry)
}

// fold moves the sums of all items and registries to the "other" entries. The totals of the node stay the same.
func (s *Sums) fold() {
	if len(s.counts) == 0 && len(s.registries) <= 1 {
		return // there is nothing to combine
	}
	folded := newHour(s.totals.Node) // folded has the limit 0, so Merge adds no named entries
	folded.Merge(s)
	*s = *folded
}

// Record returns the sums in the form of the API's response, sorted by kind and names.
func (s *Sums) Record() api.ReportRecord {
	totals := s.totals
	totals.Phases, totals.Registries = []api.PhaseTotals{}, []api.RegistryTotals{}
	totals.Merged = append([]timeline.Phase{}, slices.Sorted(maps.Keys(s.merged))...)
	for _, phase := range slices.Sorted(maps.Keys(s.phases)) {
		totals.Phases = append(totals.Phases, s.phases[phase])
	}
	for _, name := range slices.Sorted(maps.Keys(s.registries)) {
		totals.Registries = append(totals.Registries, *s.registries[name])
	}
	items := make([]api.ReportItem, 0, len(s.items))
	for _, item := range s.items {
		item := *item
		item.Causes = append([]api.CauseTotals{}, item.Causes...)
		slices.SortFunc(item.Causes, func(x, y api.CauseTotals) int { return cmp.Compare(x.Cause, y.Cause) })
		items = append(items, item)
	}
	slices.SortFunc(items, Compare)
	return api.ReportRecord{Node: totals.Node, Totals: &totals, Items: items}
}

// Compare defines the order of the items in a response.
func Compare(x, y api.ReportItem) int {
	a, b := keyOf(x), keyOf(y)
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.owner, b.owner),
		cmp.Compare(a.name, b.name))
}
