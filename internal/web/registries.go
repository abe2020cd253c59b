package web

import (
	"cmp"
	"maps"
	"slices"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
)

// registrySums counts the pulls of each registry. The keys are the names of the registries.
type registrySums map[string]*api.RegistryRecord

// add counts the completed pulls of a start-up.
func (r registrySums) add(pulls []api.PullRecord) {
	for _, p := range pulls {
		if !p.IsPull() || p.Outcome == imagepull.OutcomePulling {
			continue
		}
		registry := r.of(p.Registry)
		registry.Outcomes[p.Outcome]++
		if p.Failure != "" {
			registry.Failures[p.Failure.Counted(p.Unconfirmed)]++
		}
		if d := p.Download; d != nil && !p.Resumed { // after a resumed download, the bytes of this attempt are unknown
			registry.Bytes += d.Bytes
			registry.DownloadTime += d.Length
		}
		if p.FinishedAt.After(registry.LastAt.Time) {
			registry.LastAt = p.FinishedAt
		}
	}
}

// addLive counts the pulls in progress.
func (r registrySums) addLive(pulls []api.LivePullRecord) {
	for _, p := range pulls {
		r.of(p.Registry).InProgress++
	}
}

func (r registrySums) of(name string) *api.RegistryRecord {
	name = cmp.Or(name, imagepull.UnknownRegistry)
	registry := r[name]
	if registry == nil {
		registry = &api.RegistryRecord{Registry: name, Outcomes: map[imagepull.Outcome]int{},
			Failures: map[imagepull.Failure]int{}}
		r[name] = registry
	}
	return registry
}

// list returns the registries sorted by name.
func (r registrySums) list() api.RegistryList {
	list := api.RegistryList{Items: []api.RegistryRecord{}}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		list.Items = append(list.Items, *r[name])
	}
	return list
}
