package export

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

const (
	// maxRegistries bounds the label registry: anyone who may create a pod can invent host names, and each has some 100 series.
	maxRegistries = 6
	// maxCandidates bounds the registries whose pulls are counted, to find out which deserve a label of their own.
	maxCandidates = 8 * maxRegistries
	// takeover is how many times as many pulls as the least used registry with a label of its own another one must have to
	// get that label, so that those that are used alike do not take it from each other again and again.
	takeover = 2
	// halveAfter is after how many pulls all counts are halved: what counts is lately, not ever.
	halveAfter = 1024
)

const registryOther = "other" // not among the maxRegistries that are pulled from the most

// registryLabels gives the registries that are pulled from the most a label value of their own. What a registry without
// one counted under other stays there, and the series of one that loses its label are to be deleted: no counter ever
// decreases. Not safe for concurrent use.
//
// Which they are is found with the space-saving algorithm (Metwally et al., 2005), in bounded memory: a registry that is not
// counted yet takes the place of the one with the fewest pulls, and what that one had is its error.
type registryLabels struct {
	counted map[string]*registryCount
	pulls   int // since counts were halved
}

type registryCount struct {
	pulls, tooMany int // tooMany of the pulls at most were others'
	own            bool
}

func (c *registryCount) certain() int { return c.pulls - c.tooMany }

func newRegistryLabels() *registryLabels {
	return &registryLabels{counted: make(map[string]*registryCount, maxCandidates)}
}

// label is the label for one pull from a registry. If that takes its label from another one, that is lost; else empty.
func (l *registryLabels) label(registry string) (label, lost string) {
	registry = strings.ToValidUTF8(registry, "") // a label value must be
	if registry == "" || registry == imagepull.UnknownRegistry {
		return imagepull.UnknownRegistry, ""
	}
	c := l.count(registry)
	if c.own {
		return registry, ""
	}
	own, least := 0, ""
	for name, known := range l.counted {
		if !known.own {
			continue
		}
		own++
		if least == "" || l.fewer(name, least) {
			least = name
		}
	}
	switch {
	case own < maxRegistries:
		c.own = true
		return registry, ""
	case c.certain() > takeover*l.counted[least].pulls:
		c.own, l.counted[least].own = true, false
		return registry, least
	}
	return registryOther, ""
}

// count notes one pull.
func (l *registryLabels) count(registry string) *registryCount {
	if l.pulls++; l.pulls == halveAfter {
		l.pulls = 0
		for _, c := range l.counted {
			c.pulls, c.tooMany = c.pulls/2, c.tooMany/2
		}
	}
	c := l.counted[registry]
	if c == nil {
		c = &registryCount{}
		if len(l.counted) == maxCandidates {
			gone := l.leastCandidate()
			c.pulls, c.tooMany = l.counted[gone].pulls, l.counted[gone].pulls
			delete(l.counted, gone)
		}
		l.counted[registry] = c
	}
	c.pulls++
	return c
}

// leastCandidate has the fewest pulls of those without a label of their own.
func (l *registryLabels) leastCandidate() (least string) {
	for name, c := range l.counted {
		if !c.own && (least == "" || l.fewer(name, least)) {
			least = name
		}
	}
	return least
}

func (l *registryLabels) fewer(a, b string) bool {
	return cmp.Or(cmp.Compare(l.counted[a].pulls, l.counted[b].pulls), cmp.Compare(a, b)) < 0
}

// momentLabels are the labels of what there is at one moment: the registries that occur the most have their own.
func momentLabels(registries []string) func(registry string) string {
	occur := map[string]int{}
	for _, registry := range registries {
		if registry = strings.ToValidUTF8(registry, ""); registry != "" && registry != imagepull.UnknownRegistry {
			occur[registry]++
		}
	}
	names := slices.SortedFunc(maps.Keys(occur), func(a, b string) int {
		return cmp.Or(cmp.Compare(occur[b], occur[a]), cmp.Compare(a, b))
	})
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
