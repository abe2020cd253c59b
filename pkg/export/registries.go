package export

import (
	"cmp"
	"maps"
	"slices"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Registries adds up pulls by registry.
type Registries struct {
	byName map[string]*api.RegistryRecord
}

// NewRegistries returns an empty Registries.
func NewRegistries() *Registries { return &Registries{byName: map[string]*api.RegistryRecord{}} }

// Add counts the completed pulls of a start-up. An image that was already present does not count.
func (r *Registries) Add(pulls []api.PullRecord) {
	for _, p := range pulls {
		if p.Outcome == imagepull.OutcomePulling || p.Outcome == imagepull.OutcomePresent {
			continue
		}
		registry := r.of(p.Registry)
		registry.Outcomes[p.Outcome]++
		if p.Failure != "" {
			registry.Failures[countedFailure(p.Failure, p.Unconfirmed)]++
		}
		if d := p.Download; d != nil && !p.Resumed { // otherwise it is unknown how much of it arrived in that time
			registry.Bytes += d.Bytes
			registry.DownloadTime += d.Length
		}
		if p.FinishedAt.After(registry.LastAt.Time) {
			registry.LastAt = p.FinishedAt
		}
	}
}

// GoOn counts the pulls in progress.
func (r *Registries) GoOn(pulls []api.LivePullRecord) {
	for _, p := range pulls {
		r.of(p.Registry).GoingOn++
	}
}

func (r *Registries) of(name string) *api.RegistryRecord {
	name = cmp.Or(name, imagepull.UnknownRegistry)
	registry := r.byName[name]
	if registry == nil {
		registry = &api.RegistryRecord{Registry: name, Outcomes: map[imagepull.Outcome]int{},
			Failures: map[imagepull.Failure]int{}}
		r.byName[name] = registry
	}
	return registry
}

// List returns the registries sorted by name.
func (r *Registries) List() api.RegistryList {
	list := api.RegistryList{Items: []api.RegistryRecord{}}
	for _, name := range slices.Sorted(maps.Keys(r.byName)) {
		list.Items = append(list.Items, *r.byName[name])
	}
	return list
}
