package export

import (
	"cmp"
	"maps"
	"slices"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Registries adds up pulls by registry.
type Registries struct{ byName map[string]*RegistryRecord }

// NewRegistries is without any.
func NewRegistries() *Registries { return &Registries{byName: map[string]*RegistryRecord{}} }

// Add takes in the pulls of a start-up that are over; an image that was there already is none.
func (r *Registries) Add(pulls []PullRecord) {
	for _, p := range pulls {
		if p.Outcome == imagepull.OutcomePulling || p.Outcome == imagepull.OutcomePresent {
			continue
		}
		registry := r.of(p.Registry)
		registry.Outcomes[p.Outcome]++
		if p.Failure != "" {
			registry.Failures[countedFailure(p.Failure, p.Unconfirmed)]++
		}
		if d := p.Download; d != nil && !p.Resumed { // else nothing tells how much of it came in that time
			registry.Bytes += d.Bytes
			registry.DownloadTime += d.Length
		}
		if p.FinishedAt.After(registry.LastAt.Time) {
			registry.LastAt = p.FinishedAt
		}
	}
}

// GoOn takes in the pulls that go on.
func (r *Registries) GoOn(pulls []LivePullRecord) {
	for _, p := range pulls {
		r.of(p.Registry).GoingOn++
	}
}

func (r *Registries) of(name string) *RegistryRecord {
	name = cmp.Or(name, imagepull.UnknownRegistry)
	registry := r.byName[name]
	if registry == nil {
		registry = &RegistryRecord{Registry: name, Outcomes: map[imagepull.Outcome]int{},
			Failures: map[imagepull.Failure]int{}}
		r.byName[name] = registry
	}
	return registry
}

// List is the registries by name.
func (r *Registries) List() RegistryList {
	list := RegistryList{Items: []RegistryRecord{}}
	for _, name := range slices.Sorted(maps.Keys(r.byName)) {
		list.Items = append(list.Items, *r.byName[name])
	}
	return list
}
