package registrylabel

import "cmp"

// table counts pulls by registry with the space-saving algorithm (Metwally et al., 2005),
// in bounded memory: a new registry replaces the one with the fewest pulls, and its error is the
// count of the replaced one.
type table struct {
	counted map[string]*count
	pulls   int // since counts were halved
}

type count struct {
	pulls, tooMany int // at most tooMany of the pulls were of other registries
	most           int // pulls at the latest one that counts in full
	own            bool
	namespace      string // the namespace for whose pod an unconfirmed registry got a label
}

func (c *count) certain() int { return c.pulls - c.tooMany }

func newTable() *table {
	return &table{counted: make(map[string]*count, maxCandidates)}
}

// count notes one pull. A pull that does not count in full only restores what halving removed, and adds nothing,
// because failures are free for those who cause them.
func (t *table) count(registry string, full bool) *count {
	if t.pulls++; t.pulls == halveAfter {
		t.pulls = 0
		for _, c := range t.counted {
			c.pulls, c.tooMany = c.pulls/2, c.tooMany/2
		}
	}
	c := t.counted[registry]
	if c == nil {
		c = &count{}
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
func (t *table) own() (own int, least string) {
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
func (t *table) ownOf(namespace string) string {
	for name, c := range t.counted {
		if c.own && namespace != "" && c.namespace == namespace {
			return name
		}
	}
	return ""
}

// leastCandidate returns the registry with the fewest pulls among those without a label of their
// own.
func (t *table) leastCandidate() (least string) {
	for name, c := range t.counted {
		if !c.own && (least == "" || t.fewer(name, least)) {
			least = name
		}
	}
	return least
}

func (t *table) fewer(a, b string) bool {
	return cmp.Or(cmp.Compare(t.counted[a].pulls, t.counted[b].pulls), cmp.Compare(a, b)) < 0
}
