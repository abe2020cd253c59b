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
	names map[string][]string // by the reason for the missing factor; a list is nil if the names are unknown
}

func (w *withoutFactor) add(name, why string) {
	if w.names == nil {
		w.names = map[string][]string{}
	}
	w.count++
	w.names[why] = append(w.names[why], name)
}

// note adds the reasons to the note of a section. The argument "compared" is the number of nodes or registries with a
// factor. The arguments "one" and "many" are the text after the number of missing factors, in the singular and in the
// plural.
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

// listOf lists at most maxNamed names and the number of the other names.
func listOf(names []string) string {
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
