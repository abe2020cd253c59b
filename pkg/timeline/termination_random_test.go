package timeline

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestAnyTerminationPartitions folds random observations into terminations.
func TestAnyTerminationPartitions(t *testing.T) { eachSeed(t, checkAnyEnd) }

// FuzzAnyTerminationPartitions looks for observations that break a termination.
func FuzzAnyTerminationPartitions(f *testing.F) { fuzzChoices(f, checkAnyEnd) }

// checkAnyEnd folds random observations into terminations in order of arrival, at unusual moments and with
// unusual clocks.
func checkAnyEnd(t *testing.T, random *rand.Rand) {
	t.Helper()
	var e *TerminationEvidence
	for _, o := range randomObservations(random) {
		if e == nil {
			e = NewTerminationEvidence(o)
		} else {
			e.Apply(o)
		}
		if e == nil {
			continue
		}
		for _, now := range []time.Time{base, base.Add(time.Duration(random.Int64N(int64(20 * time.Second)))),
			base.Add(100 * time.Second)} {
			end := e.Termination(now,
				Skew{-time.Duration(random.Int64N(int64(time.Second))),
					time.Duration(random.Int64N(int64(time.Second)))})
			checkEnd(t, end)
			end.Verdict()
			if every := e.QueryInterval(now); every < 0 || every > 0 && every < queryStopping {
				t.Errorf("the query interval is %s", every)
			}
		}
	}
}
