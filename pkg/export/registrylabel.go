package export

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

const (
	// maxRegistries limits the values of the label registry: whoever may create a pod can invent
	// host names, and each has some 100 series.
	maxRegistries = 6
	// maxConfirmed is how many labels registries may have from which the runtime is known to have
	// pulled. The last label is for a registry that has been down since the agent started.
	maxConfirmed = maxRegistries - 1
	// maxClaimed is how many of the remaining labels registries may have that only pods and Events
	// name. Each namespace may have one of them.
	maxClaimed = maxRegistries / 2
	// maxCandidates limits the registries of either kind whose pulls are counted, to find out which
	// get a label of their own.
	maxCandidates = 8 * maxRegistries
	// takeover is the factor by which another registry must have more pulls than the least used
	// registry with a label to take that label. So registries with similar use do not take it from
	// each other again and again.
	takeover = 2
	// halveAfter is the number of pulls after which all counts are halved: recent use counts, not
	// total use.
	halveAfter = 1024
)

const registryOther = "other" // not among the maxRegistries that have a label

// registryLabels gives a label value of its own to the registries with the most pulls. What was
// counted under other stays there, and the series of a registry that loses its label must be
// deleted: a counter never decreases. It is not safe for concurrent use.
//
// A pod can name any host, and an Event can say that an image came from it. So registries with a
// confirmed pull compete among themselves, and take a label from any without one; the others
// compete for the rest.
type registryLabels struct {
	confirmed, claimed *registryTable
}

func newRegistryLabels() *registryLabels {
	return &registryLabels{confirmed: newRegistryTable(), claimed: newRegistryTable()}
}

// label returns the label for one pull from a registry, for a pod of a namespace. lost is the
// registry that loses its label through that, possibly this one; otherwise it is empty.
func (l *registryLabels) label(registry, namespace string, confirmed bool) (label, lost string) {
	registry = strings.ToValidUTF8(registry, "") // label values must be valid
	switch {
	case registry == "" || registry == imagepull.UnknownRegistry:
		return imagepull.UnknownRegistry, ""
	case confirmed || l.confirmed.counted[registry] != nil:
		return l.confirmedLabel(registry, confirmed)
	}
	return l.claimedLabel(registry, namespace)
}

func (l *registryLabels) confirmedLabel(registry string, confirmed bool) (label, lost string) {
	c := l.confirmed.count(registry, confirmed)
	if c.own {
		return registry, ""
	}
	had := l.claimed.counted[registry] != nil && l.claimed.counted[registry].own
	delete(l.claimed.counted, registry)
	own, least := l.confirmed.own()
	claimed, leastClaimed := l.claimed.own()
	switch {
	case own < maxConfirmed:
		c.own = true
		if !had && own+claimed == maxRegistries {
			l.claimed.counted[leastClaimed].own = false
			return registry, leastClaimed
		}
		return registry, ""
	case had: // there are too many confirmed ones now: it starts again among them
		return registryOther, registry
	case c.certain() > takeover*l.confirmed.counted[least].pulls:
		c.own, l.confirmed.counted[least].own = true, false
		return registry, least
	}
	return registryOther, ""
}

func (l *registryLabels) claimedLabel(registry, namespace string) (label, lost string) {
	c := l.claimed.count(registry, true)
	if c.own {
		return registry, ""
	}
	confirmed, _ := l.confirmed.own()
	claimed, least := l.claimed.own()
	if of := l.claimed.ownOf(namespace); of != "" {
		least = of
	} else if claimed < min(maxClaimed, maxRegistries-confirmed) {
		c.own, c.namespace = true, namespace
		return registry, ""
	}
	if least != "" && c.certain() > takeover*l.claimed.counted[least].pulls {
		c.own, c.namespace, l.claimed.counted[least].own = true, namespace, false
		return registry, least
	}
	return registryOther, ""
}

// registryTable counts pulls by registry with the space-saving algorithm (Metwally et al., 2005),
// in bounded memory: a new registry replaces the one with the fewest pulls, and its error is the
// count of the replaced one.
type registryTable struct {
	counted map[string]*registryCount
	pulls   int // since counts were halved
}

type registryCount struct {
	pulls, tooMany int // at most tooMany of the pulls were of other registries
	most           int // pulls at the latest one that counts in full
	own            bool
	namespace      string // the namespace for whose pod an unconfirmed registry got a label
}

func (c *registryCount) certain() int { return c.pulls - c.tooMany }

func newRegistryTable() *registryTable {
	return &registryTable{counted: make(map[string]*registryCount, maxCandidates)}
}

// count notes one pull. A pull that does not count in full only restores what halving removed, and
// adds nothing: failures cost nothing to whoever causes them.
func (t *registryTable) count(registry string, full bool) *registryCount {
	if t.pulls++; t.pulls == halveAfter {
		t.pulls = 0
		for _, c := range t.counted {
			c.pulls, c.tooMany = c.pulls/2, c.tooMany/2
		}
	}
	c := t.counted[registry]
	if c == nil {
		c = &registryCount{}
		if len(t.counted) == maxCandidates {
			gone := t.leastCandidate()
			c.pulls, c.tooMany = t.counted[gone].pulls, t.counted[gone].pulls
			delete(t.counted, gone)
		}
		t.counted[registry] = c
	}
	if full {
		c.pulls++
		c.most = c.pulls
	} else if c.pulls < c.most {
		c.pulls++
	}
	return c
}

// own returns how many registries have a label of their own, and which of them has the fewest
// pulls.
func (t *registryTable) own() (own int, least string) {
	for name, c := range t.counted {
		if !c.own {
			continue
		}
		own++
		if least == "" || t.fewer(name, least) {
			least = name
		}
	}
	return own, least
}

// ownOf returns the registry that got its label for a pod of a namespace; empty if there is none,
// or if the namespace is unknown.
func (t *registryTable) ownOf(namespace string) string {
	for name, c := range t.counted {
		if c.own && namespace != "" && c.namespace == namespace {
			return name
		}
	}
	return ""
}

// leastCandidate returns the registry with the fewest pulls among those without a label of their
// own.
func (t *registryTable) leastCandidate() (least string) {
	for name, c := range t.counted {
		if !c.own && (least == "" || t.fewer(name, least)) {
			least = name
		}
	}
	return least
}

func (t *registryTable) fewer(a, b string) bool {
	return cmp.Or(cmp.Compare(t.counted[a].pulls, t.counted[b].pulls), cmp.Compare(a, b)) < 0
}

// momentPull is a current pull: for a pod of a namespace, from a registry.
type momentPull struct{ namespace, registry string }

// momentLabels assigns labels for the pulls at one moment. First comes each namespace's most
// frequent registry, then each one's second, so that a namespace that invents hosts leaves room for
// others; then the most frequent in total.
func momentLabels(pulls []momentPull) func(registry string) string {
	occur, within := map[string]int{}, map[string]map[string]int{}
	for _, p := range pulls {
		registry := strings.ToValidUTF8(p.registry, "")
		if registry == "" || registry == imagepull.UnknownRegistry {
			continue
		}
		occur[registry]++
		if within[p.namespace] == nil {
			within[p.namespace] = map[string]int{}
		}
		within[p.namespace][registry]++
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
	names = names[:min(len(names), maxRegistries)]
	return func(registry string) string {
		registry = strings.ToValidUTF8(registry, "")
		switch {
		case registry == "" || registry == imagepull.UnknownRegistry:
			return imagepull.UnknownRegistry
		case slices.Contains(names, registry):
			return registry
		}
		return registryOther
	}
}

func mostFirst(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}
