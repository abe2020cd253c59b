package scenario

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
)

// If a stack does not keep layers, any number of pulls can be merged into the phase image_pull, but not into another
// phase.
func TestMergedPhasesAreFew(t *testing.T) {
	for name, test := range map[string]struct {
		discards bool
		mergedIn string
		merged   int
		failed   bool
	}{
		"5 %":                       {false, agent.ImagePull, 5, false},
		"6 %":                       {false, agent.ImagePull, 6, true},
		"without layers":            {true, agent.ImagePull, 60, false},
		"without layers, elsewhere": {true, agent.Unattributed, 6, true},
	} {
		counted := tally{discards: test.discards}
		for i := range 100 {
			r := reading{phase: "pull", happened: span(0, time.Second), measured: time.Second, stated: time.Second}
			if i < test.merged {
				r.missing, r.mergedIn, r.holder = true, test.mergedIn, time.Second
			}
			counted.readings = append(counted.readings, r)
		}
		v := &Verdict{}
		counted.judgePromises(v)
		if v.Failed() != test.failed {
			t.Errorf("%s: %q", name, v.Problems)
		}
	}
}
