package workload

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestProperties checks random start-ups: parts add up to the whole, and the order of the records does not matter.
func TestProperties(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		records := randomRecords(random)
		got := Summarize(records, Options{})
		checkSums(t, got)
		want, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		shuffled := append(slices.Clone(records), records[random.IntN(len(records))])
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if again, _ := json.Marshal(Summarize(shuffled, Options{})); string(again) != string(want) {
			t.Fatalf("seed %d: another order gives another summary:\n%s\n%s", seed, want, again)
		}
	}
}

func randomRecords(random *rand.Rand) []api.Record {
	states := []timeline.State{"", "", "", "", timeline.StateSucceeded, timeline.StateStarting, timeline.StateFailed}
	outcomes := []imagepull.Outcome{"", imagepull.OutcomePresent, imagepull.OutcomeDownloaded}
	var records []api.Record
	for k := range 1 + random.IntN(60) {
		record := invented{
			name: fmt.Sprint(k), node: fmt.Sprint(random.IntN(4)), revision: fmt.Sprint(random.IntN(3)),
			state: states[random.IntN(len(states))], minute: random.IntN(5), pull: random.ExpFloat64() * 5,
			unpack: random.ExpFloat64(), ready: random.ExpFloat64() * 3, other: random.Float64(),
			err: random.Float64() / 2, outcome: outcomes[random.IntN(len(outcomes))], size: int64(random.IntN(3)),
		}.record()
		if random.IntN(3) == 0 {
			record.Phases[1].MergedWith = []timeline.Phase{timeline.PhaseUnpack}
		}
		records = append(records, record)
	}
	return records
}

func checkSums(t *testing.T, s api.WorkloadSummary) {
	t.Helper()
	causes, phases := api.Seconds(0), api.Seconds(0)
	for _, cause := range s.Causes {
		causes += cause.Mean
	}
	for _, phase := range s.Phases {
		phases += phase.Mean
	}
	if s.Durations != nil && (causes != s.Durations.Mean || phases != s.Durations.Mean) {
		t.Fatalf("mean %s, but the causes add up to %s, and the phases to %s", s.Durations.Mean, causes, phases)
	}
	differences := []api.WorkloadDifference{}
	if s.Comparison != nil {
		differences = append(differences, s.Comparison.Difference)
	}
	if s.Images.Difference != nil {
		differences = append(differences, *s.Images.Difference)
	}
	for _, node := range s.Nodes {
		differences = append(differences, node.Difference)
	}
	for _, d := range differences {
		sum := d.Other
		for _, part := range d.Parts {
			sum += part.Seconds
		}
		if sum != d.Seconds || d.Verdict != api.MoreThanNoise && len(d.Parts) > 0 {
			t.Fatalf("the parts add up to %s: %+v", sum, d)
		}
	}
}

// TestNoiseIsRarelyADifference compares groups from the same distribution. At most one in twenty comparisons can be
// more than noise, plus a margin for chance.
func TestNoiseIsRarelyADifference(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	const rounds = 2000
	wrong := 0
	for range rounds {
		var lists [2][]interval
		for g := range lists {
			for range 8 {
				d := time.Duration(random.ExpFloat64() * float64(10*time.Second))
				lists[g] = append(lists[g], interval{d, d, d})
			}
		}
		if compareDurations(lists[0], lists[1], 1).verdict == api.MoreThanNoise {
			wrong++
		}
	}
	if wrong > rounds*6/100 {
		t.Errorf("%d of %d comparisons of the same distribution are more than noise", wrong, rounds)
	}
}

// TestStatementsHoldForAllAllowedDurations draws groups with error bounds and equal durations. If the verdict is
// MoreThanNoise, every allowed choice of true durations must pass the rank test.
func TestStatementsHoldForAllAllowedDurations(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	claims := 0
	for round := range 8000 {
		var lists [2][]interval
		for g := range lists {
			for range 3 + random.IntN(4) {
				at := time.Duration(1+random.IntN(6)+g*random.IntN(7)) * time.Second
				err := time.Duration(1+random.IntN(3)) * time.Second / 2
				lists[g] = append(lists[g], interval{at, max(at-err, 0), at + err})
			}
		}
		got := compareDurations(lists[0], lists[1], 1)
		if got.verdict != api.MoreThanNoise {
			continue
		}
		claims++
		for range 30 {
			var truth [2][]time.Duration
			for g := range lists {
				for _, i := range lists[g] {
					truth[g] = append(truth[g], i.low+time.Duration(random.Int64N(int64(i.high-i.low))))
				}
			}
			if p, _ := RankTest(truth[0], truth[1]); p >= noise {
				t.Fatalf("round %d: %v has p %v with errors, but the truth %v has p %v", round, lists,
					got.pWithErrors, truth, p)
			}
		}
	}
	if claims < 100 {
		t.Errorf("only %d statements", claims)
	}
}
