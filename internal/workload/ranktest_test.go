package workload

import (
	"math"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

func values(list ...int) []time.Duration {
	durations := make([]time.Duration, 0, len(list))
	for _, value := range list {
		durations = append(durations, time.Duration(value))
	}
	return durations
}

// Ozone values of R's data set airquality, in May and in August. They contain ties.
var (
	ozoneMay = values(41, 36, 12, 18, 28, 23, 19, 8, 7, 16, 11, 14, 18, 14, 34, 6, 30, 11, 1, 11, 4, 32, 23, 45,
		115, 37)
	ozoneAug = values(39, 9, 16, 78, 35, 66, 122, 89, 110, 44, 28, 65, 22, 59, 23, 31, 44, 21, 9, 45, 168, 73, 76, 118,
		84, 85)
)

// TestRankTestAgainstPublishedValues uses the example of SciPy's mannwhitneyu, and the table of Mann and Whitney
// (1947), which contains one-sided probabilities to three digits.
func TestRankTestAgainstPublishedValues(t *testing.T) {
	for name, test := range map[string]struct {
		a, b  []time.Duration
		p     float64
		digit float64
		shift int
	}{
		"SciPy": {values(19, 22, 16, 29, 24), values(20, 11, 17, 12), 0.1111111111111111, 1e-12, -1},
		"SciPy, groups in the other order": {values(20, 11, 17, 12), values(19, 22, 16, 29, 24), 0.1111111111111111,
			1e-12, 1},
		"3 and 3, U=0":          {values(1, 2, 3), values(4, 5, 6), 2 * 0.050, 0.001, 1},
		"4 and 4, U=0":          {values(1, 2, 3, 4), values(5, 6, 7, 8), 2 * 0.014, 0.001, 1},
		"4 and 4, U=1":          {values(1, 2, 3, 5), values(4, 6, 7, 8), 2 * 0.029, 0.001, 1},
		"4 and 4, U=3":          {values(1, 2, 3, 7), values(4, 5, 6, 8), 2 * 0.100, 0.001, 1},
		"3 and 5, U=0":          {values(1, 2, 3), values(4, 5, 6, 7, 8), 2 * 0.018, 0.001, 1},
		"5 and 5, U=2":          {values(1, 2, 3, 4, 7), values(5, 6, 8, 9, 10), 2 * 0.016, 0.001, 1},
		"equal groups":          {values(1, 2, 3), values(1, 2, 3), 1, 0, 0},
		"equal values":          {values(7, 7, 7, 7), values(7, 7, 7, 7), 1, 0, 0},
		"ties, 1 of 20 choices": {values(1, 1, 1), values(2, 2, 2), 0.1, 1e-12, 1},
		"an empty group":        {nil, values(1, 2), 1, 0, 0},
	} {
		p, shift := RankTest(test.a, test.b)
		if math.Abs(p-test.p) > test.digit || shift != test.shift {
			t.Errorf("%s: p %v, shift %d; want %v, %d", name, p, shift, test.p, test.shift)
		}
	}
}

// TestApproximationAgainstPublishedValues uses SciPy's example with method="asymptotic", and the example of R's
// wilcox.test, W = 127.5, p-value = 0.0001208.
func TestApproximationAgainstPublishedValues(t *testing.T) {
	if p := normalProbability(4, 9, 0, 14); math.Abs(p-0.11134688653314041) > 1e-12 {
		t.Errorf("SciPy: p %v", p)
	}
	ranks, ties := doubledRanks(ozoneMay, ozoneAug)
	sum := 0
	for _, rank := range ranks[:len(ozoneMay)] {
		sum += rank
	}
	if w := float64(sum)/2 - 26*27/2; w != 127.5 {
		t.Errorf("R: W %v, want 127.5", w)
	}
	if p := normalProbability(26, 52, ties, 26*53-sum); math.Abs(p-0.0001208) > 5e-8 {
		t.Errorf("R: p %v, want 0.0001208", p)
	}
}

// TestExactAgainstApproximation compares both methods for a moderate difference, where both are accurate.
func TestExactAgainstApproximation(t *testing.T) {
	var a, b []time.Duration
	for i := range 20 {
		a, b = append(a, time.Duration(10*i)), append(b, time.Duration(10*i+35))
	}
	ranks, ties := doubledRanks(a, b)
	sum := 0
	for _, rank := range ranks[:20] {
		sum += rank
	}
	x, y := exact(ranks, 20, 20*41, 20*41-sum), normalProbability(20, 40, ties, 20*41-sum)
	if x < 0.01 || x > 0.2 || math.Abs(x-y) > 0.02*x {
		t.Errorf("exact %v, approximate %v", x, y)
	}
	if p, shift := RankTest(a, b); p != x || shift != 1 {
		t.Errorf("p %v, shift %d; want the exact value %v, 1", p, shift, x)
	}
}

// TestLeastP compares leastP with the rank test of groups that do not overlap. 3 and 5, and 4 and 4 start-ups are the
// smallest groups that can prove a difference. The command explain prints these numbers.
func TestLeastP(t *testing.T) {
	for a := 1; a <= 9; a++ {
		for b := 1; b <= 9; b++ {
			var lower, upper []time.Duration
			for i := range a {
				lower = append(lower, time.Duration(i))
			}
			for i := range b {
				upper = append(upper, time.Duration(100+i))
			}
			p, _ := RankTest(lower, upper)
			if least := leastP(a, b); math.Abs(least-p) > 1e-12 {
				t.Errorf("%d and %d: least p %v, but the rank test has %v", a, b, least, p)
			}
			few := min(a, b) < 3 || a+b < 8
			if min(a, b) >= MinStartUps && few != (leastP(a, b) >= noise) {
				t.Errorf("%d and %d: least p %v", a, b, leastP(a, b))
			}
		}
	}
}

// TestTooFew uses groups that do not overlap. With several comparisons, larger groups are too few.
func TestTooFew(t *testing.T) {
	group := func(n int, from time.Duration) (list []interval) {
		for i := range n {
			at := from + time.Duration(i)
			list = append(list, interval{at, at, at})
		}
		return list
	}
	for _, c := range []struct {
		a, b, comparisons int
		want              api.WorkloadVerdict
	}{
		{2, 50, 1, api.TooFew}, {3, 3, 1, api.TooFew}, {3, 4, 1, api.TooFew}, {4, 3, 1, api.TooFew},
		{3, 5, 1, api.MoreThanNoise}, {4, 4, 1, api.MoreThanNoise}, {4, 4, 2, api.TooFew},
		{4, 5, 2, api.MoreThanNoise}, {3, 60, 20, api.MoreThanNoise},
	} {
		got := compareDurations(group(c.a, 8*time.Second), group(c.b, 80*time.Second), c.comparisons)
		if got.verdict != c.want || got.p == 0 && c.a >= MinStartUps {
			t.Errorf("%d and %d, %d comparisons: %+v, want %s", c.a, c.b, c.comparisons, got, c.want)
		}
	}
}
