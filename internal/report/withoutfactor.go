package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The type "withoutFactor" lists the nodes or registries that have no factor.
type withoutFactor struct {
	count int
	// The keys of the map "names" are the reasons for missing factors. If the names of the nodes or registries are
	// unknown, the value is nil.
	names map[string][]string
}

func (w *withoutFactor) add(name, why string) {
	if w.names == nil {
		w.names = map[string][]string{}
	}
	w.count++
	w.names[why] = append(w.names[why], name)
}

// note replaces the note of a section with the reasons for missing factors. If no factor is missing, note returns the
// section unchanged. The argument "compared" is the number of nodes or registries with a factor. The arguments "one"
// and "many" follow the number of missing factors, for example "node has no factor" and "nodes have no factor".
func (w *withoutFactor) note(s Section, compared int, one, many string) Section {
	if w.count == 0 {
		return s
	}
	var reasons []string
	for _, why := range slices.Sorted(maps.Keys(w.names)) {
		reason := why
		if names := slices.Sorted(slices.Values(w.names[why])); len(names) > 0 && w.count+compared > 1 {
			reason += ": " + listOf(names)
		}
		reasons = append(reasons, reason)
	}
	s.Note = strings.Join(reasons, "; ")
	if len(s.Rows) > 0 || w.count+compared > 1 {
		s.Note = plural(w.count, one, many) + "; " + s.Note
	}
	return s
}

// maxNamed is the maximum number of nodes or registries that one part of a note names.
const maxNamed = 20

// listOf returns a text with at most maxNamed names. If there are more names, the text ends with the number of the
// other names.
func listOf(names []string) string {
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
