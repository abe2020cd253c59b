package blame

import (
	"testing"
	"time"
)

func TestCompareLengths(t *testing.T) {
	known := []Length{{Phase: "pull", Container: "main", Length: 4 * time.Second, Slack: 100 * time.Millisecond}}
	phase := func(from, to, stated float64, name, container string, merged ...string) Reported {
		p := reported(from, to, stated, causeOf[name])
		p.Phase, p.Container, p.Merged = name, container, merged
		return p
	}
	for name, test := range map[string]struct {
		reported             []Reported
		violations, compared int
	}{
		"exact":                   {[]Reported{phase(0, 4, 0, "pull", "main")}, 0, 1},
		"inside the error bound":  {[]Reported{phase(0, 5, 1, "pull", "main")}, 0, 1},
		"outside the error bound": {[]Reported{phase(0, 5, 0.5, "pull", "main")}, 1, 1},
		"within the slack":        {[]Reported{phase(0, 4.1, 0, "pull", "main")}, 0, 1},
		"another container":       {[]Reported{phase(0, 9, 0, "pull", "other")}, 0, 0},
		"in parts":                {[]Reported{phase(0, 1, 0, "pull", "main"), phase(2, 3, 0, "pull", "main")}, 0, 0},
		"part of another phase": {[]Reported{phase(0, 1, 0, "pull", "main"),
			phase(1, 9, 0, "unattributed", "main", "pull", "unpack")}, 0, 0},
		"part of another container's phase": {[]Reported{phase(0, 5, 0, "pull", "main"),
			phase(5, 9, 0, "unattributed", "other", "pull", "unpack")}, 1, 1},
	} {
		if violations, compared := Compare(test.reported, known); len(violations) != test.violations ||
			compared != test.compared {
			t.Errorf("%s: %v, %d compared", name, violations, compared)
		}
	}
}
