package scenario

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// If a stack does not keep layers, any number of pulls can be merged into the phase image_pull, but not into another
// phase. While no agent runs, any number of phases can be merged.
func TestMergedPhasesAreFew(t *testing.T) {
	for name, test := range map[string]struct {
		discards bool
		absences []bench.Span
		mergedIn string
		merged   int
		failed   bool
	}{
		"5 %":                       {false, nil, agent.ImagePull, 5, false},
		"6 %":                       {false, nil, agent.ImagePull, 6, true},
		"without layers":            {true, nil, agent.ImagePull, 60, false},
		"without layers, elsewhere": {true, nil, agent.Unattributed, 6, true},
		"without an agent": {false, []bench.Span{span(-time.Minute, -time.Second), span(0, time.Second)},
			agent.Unattributed, 60, false},
		"without an agent earlier": {false, []bench.Span{span(-time.Minute, -time.Second)}, agent.Unattributed, 6,
			true},
	} {
		counted := tally{discards: test.discards, absences: test.absences}
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
