package registrylabel

import "cmp"

// table counts pulls by registry in bounded memory, with the space-saving algorithm (Metwally et al., 2005). If the
// table is full, a new registry replaces the registry that has the fewest pulls and no label of its own. The count of
// the new registry starts at the count of the replaced registry. Therefore, the count of the new registry can be too
// high. The error is at most the count of the replaced registry.
type table struct {
	counted map[string]*count
	pulls   int // number of pulls since all counts were last halved
}

type count struct {
	pulls, tooMany int // tooMany: the part of the field "pulls" that can belong to replaced registries
	most           int // value of "pulls" after the latest call of countPull with full = true; never halved
	own            bool
	namespace      string // namespace of the pull that gave the registry its label; empty after a confirmed pull
}

func (c *count) certain() int { return c.pulls - c.tooMany }

func newTable() *table {
	return &table{counted: make(map[string]*count, maxCandidates)}
}

// countPull counts one pull of a registry. If the argument "full" is true, countPull adds 1 to the field "pulls". If
// "full" is false, countPull adds 1 only if "pulls" is less than the field "most". The limit "most" is necessary
// because a user can cause any number of failed pulls.
func (t *table) countPull(registry string, full bool) *count {
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

// ownLabels returns the number of registries with their own label, and the least used of these registries.
func (t *table) ownLabels() (own int, least string) {
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

// ownOf returns the registry that got a label of its own because of a pull in the namespace. The result is empty if the
// namespace is unknown, or if no pull in the namespace gave a registry its own label.
func (t *table) ownOf(namespace string) string {
	for name, c := range t.counted {
		if c.own && namespace != "" && c.namespace == namespace {
			return name
		}
	}
	return ""
}

// leastCandidate returns the registry with the fewest pulls among the registries without their own label.
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
