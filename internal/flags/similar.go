package flags

import (
	"fmt"

	"github.com/agnivade/levenshtein"
)

// unknownFlag returns the error for an unknown flag. If the table has a flag with a similar name, the error suggests
// this flag.
func unknownFlag(name string, similar Flag) error {
	if similar.Name == "" {
		return fmt.Errorf("unknown flag %s", withDashes(name))
	}
	return fmt.Errorf("unknown flag %s: did you mean %s?", withDashes(name), withDashes(similar.Name))
}

// similar returns the flag whose name has the smallest edit distance to the given name. If the given name has at least
// five letters, the distance must be at most 2. If the given name is shorter, the distance must be at most 1. Two
// swapped letters count as two edits. If no name is similar, the result is an empty flag.
func (t Table) similar(name string) Flag {
	var best Flag
	least := min(2, (len(name)+1)/3) + 1
	for _, f := range t {
		if f.Hidden {
			continue
		}
		for _, known := range []string{f.Name, f.Alias} {
			if len(known) < 2 || max(len(known)-len(name), len(name)-len(known)) >= least {
				continue // the name is not similar; for a long name, the computation would be slow
			}
			if d := levenshtein.ComputeDistance(name, known); d < least {
				best, least = f, d
			}
		}
	}
	return best
}
