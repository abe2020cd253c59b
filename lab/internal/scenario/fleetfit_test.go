package scenario

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestExtrapolation(t *testing.T) {
	var sizes []fleetSize
	for _, agents := range []int{250, 500, 1000} {
		n := time.Duration(agents)
		sizes = append(sizes, fleetSize{agents: agents,
			rollout:     []time.Duration{n * 10 * time.Millisecond, n * 10 * time.Millisecond},
			rolloutTook: []time.Duration{time.Second, time.Second},
			idle:        []time.Duration{n * time.Microsecond, n * time.Microsecond},
			start:       []time.Duration{time.Millisecond, 3 * time.Millisecond},
			memory:      []int64{int64(agents) << 20, int64(agents) << 20}, startBytes: []float64{500, 500}})
	}
	got := strings.Join(extrapolation(sizes), "\n")
	for _, want := range []string{
		"CPU | 250 agents: 2.5 s | 500 agents: 5 s | 1000 agents: 10 s | extrapolated to 5000 agents: 50 s, ",
		"duration | 250 agents: 1 s | 500 agents: 1 s | 1000 agents: 1 s | extrapolated to 5000 agents: 1 s, ",
		"extrapolated to 5000 agents: 5000 MiB, at most 5000 ",
		"no pod starts, CPU | 250 agents: 0.025 % of a core",
		"100 starts per second, CPU | 250 agents: 20 % of a core",
		"extrapolated to 5000 agents: 20 % of a core, at most 171.4 with 95 % confidence",
		"extrapolated to 5000 agents: 50 kB/s",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in\n%s", want, got)
		}
	}
}

// The upper limit must be above the true value in about 95 of 100 series of noisy measurements.
func TestPredictHolds(t *testing.T) {
	noise := uint64(1)
	next := func() float64 { // sum of uniform values, which is close to a normal distribution
		var sum float64
		for range 12 {
			noise = noise*6364136223846793005 + 1442695040888963407
			sum += float64(noise>>11) / (1 << 53)
		}
		return sum - 6
	}
	const series, truth = 2000, 10 + 0.5*largeFleet
	held := 0
	for range series {
		var x, y []float64
		for _, agents := range []float64{250, 500, 1000} {
			for range 4 {
				x, y = append(x, agents), append(y, 10+0.5*agents+30*next())
			}
		}
		if _, atMost := regress(x, y).predict(largeFleet); atMost >= truth {
			held++
		}
	}
	if share := float64(held) / series; math.Abs(share-0.95) > 0.02 {
		t.Errorf("the limit holds in %.1f %% of the series, want 95 %%", 100*share)
	}
}
