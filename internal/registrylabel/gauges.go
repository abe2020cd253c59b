package registrylabel

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Pull contains two facts about a pull in progress: the pod's namespace and the registry.
type Pull struct{ Namespace, Registry string }

// OfMoment returns a function that maps each registry to its label value. The label values depend only on the given
// pulls. In each namespace, OfMoment ranks the registries by their number of pulls. A registry with several ranks keeps
// its best rank. The registries with the best ranks get their own label values. If two registries have the same rank,
// the registry with more pulls in all namespaces comes first. So one namespace with many invented hosts cannot take all
// label values.
func OfMoment(pulls []Pull) func(registry string) string {
	occur, within := map[string]int{}, map[string]map[string]int{}
	for _, p := range pulls {
		registry := strings.ToValidUTF8(p.Registry, "")
		if registry == "" || registry == imagepull.UnknownRegistry {
			continue
		}
		occur[registry]++
		if within[p.Namespace] == nil {
			within[p.Namespace] = map[string]int{}
		}
		within[p.Namespace][registry]++
	}
	rank := map[string]int{}
	for _, counts := range within {
		for i, registry := range mostFirst(counts) {
			if best, ranked := rank[registry]; !ranked || i < best {
				rank[registry] = i
			}
		}
	}
	names := mostFirst(occur)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank[a], rank[b]) })
	names = names[:min(len(names), Max)]
	return func(registry string) string {
		registry = strings.ToValidUTF8(registry, "")
		switch {
		case registry == "" || registry == imagepull.UnknownRegistry:
			return imagepull.UnknownRegistry
		case slices.Contains(names, registry):
			return registry
		}
		return otherLabel
	}
}

func mostFirst(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}
