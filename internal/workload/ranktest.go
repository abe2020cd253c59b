package workload

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// maxExact limits the computing time of the exact rank test. RankTest multiplies the size of the smaller group by the
// number of all values. If the square of this product exceeds maxExact, RankTest uses the normal approximation, which
// is accurate enough.
const maxExact = 1_000_000

// RankTest is the two-sided Mann–Whitney U test. The result p is the p-value: the probability of an equal or larger
// difference if both groups come from the same distribution. shift is 1 if group b has the higher ranks, -1 if group a
// has the higher ranks, and 0 otherwise. Equal values get the mean of their ranks. For small groups, p is exact, even
// if some values are equal. For large groups, p is the normal approximation with corrections for ties and for
// continuity. If a group is empty, p is 1.
func RankTest(a, b []time.Duration) (p float64, shift int) {
	if len(a) == 0 || len(b) == 0 {
		return 1, 0
	}
	ranks, ties := doubledRanks(a, b)
	return rankSum(ranks, ties, len(a))
}

// leastP returns the smallest possible p of the exact rank test for two groups of the given sizes, if all values are
// different. The rank test returns this p if all values of one group are larger than all values of the other group.
func leastP(a, b int) float64 {
	choices := 1.0 // number of ways to choose min(a, b) ranks
	for i := 1; i <= min(a, b); i++ {
		choices *= float64(max(a, b)+i) / float64(i)
	}
	return min(2/choices, 1)
}

// leastFavorable does the rank test for durations that are known only as intervals. The argument "lower" contains the
// upper end of each interval of the faster group. The argument "upper" contains the lower end of each interval of the
// slower group. With these ends, the difference between the groups is as small as the intervals allow. Equal values can
// stand for different true durations. So leastFavorable computes p twice: once with mean ranks, and once with the order
// of the equal values that makes the difference smallest. The result is the larger of the two values of p. If the group
// "upper" does not have the higher ranks, the result is 1.
func leastFavorable(lower, upper []time.Duration) float64 {
	ranks, ties := doubledRanks(lower, upper)
	p, shift := rankSum(ranks, ties, len(lower))
	if shift <= 0 {
		return 1
	}
	if ties == 0 {
		return p
	}
	values := slices.Concat(lower, upper)
	order := make([]int, len(values))
	for i := range order {
		order[i] = len(order) - 1 - i // reverse order, so that group upper gets the lower ranks among equal values
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	for position, i := range order {
		ranks[i] = 2 * (position + 1)
	}
	untied, shift := rankSum(ranks, 0, len(lower))
	if shift <= 0 {
		return 1
	}
	return max(p, untied)
}

// rankSum returns the results p and shift of RankTest. The argument "ranks" contains the doubled ranks of all values,
// first those of group a, then those of group b. The argument "a" is the number of values in group a.
func rankSum(ranks []int, ties float64, a int) (p float64, shift int) {
	small, sign := a, -1
	if b := len(ranks) - a; b < a {
		small, sign = b, 1
		ranks = slices.Concat(ranks[a:], ranks[:a])
	}
	n, sum := len(ranks), 0
	for _, rank := range ranks[:small] {
		sum += rank
	}
	expected := small * (n + 1) // expected sum of the doubled ranks
	distance := max(sum-expected, expected-sum)
	if distance == 0 {
		return 1, 0
	}
	shift = sign * cmp.Compare(sum, expected)
	if small*small*n*n <= maxExact {
		return exact(ranks, small, expected, distance), shift
	}
	return normalProbability(small, n, ties, distance), shift
}

// doubledRanks returns twice the rank of each value, so that mean ranks are integers. The result lists the ranks of
// group a before the ranks of group b. ties is the sum of t³-t over all sets of t equal values.
func doubledRanks(a, b []time.Duration) (ranks []int, ties float64) {
	values := slices.Concat(a, b)
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	ranks = make([]int, len(values))
	for first := 0; first < len(order); {
		next := first + 1
		for next < len(order) && values[order[next]] == values[order[first]] {
			next++
		}
		for _, i := range order[first:next] {
			ranks[i] = first + 1 + next
		}
		t := float64(next - first)
		ties += t*t*t - t
		first = next
	}
	return ranks, ties
}

// exact returns the share of possible groups whose rank sum differs from the expected sum by at least "distance". Every
// choice of "size" ranks from the list is a possible group.
func exact(ranks []int, size, expected, distance int) float64 {
	sorted := slices.Sorted(slices.Values(ranks))
	most := 0
	for _, rank := range sorted[len(sorted)-size:] {
		most += rank
	}
	ways := make([][]float64, size+1) // ways[count][sum] is the number of ways to choose "count" ranks with this sum
	for i := range ways {
		ways[i] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for _, rank := range sorted {
		for chosen := size; chosen > 0; chosen-- {
			for sum := most; sum >= rank; sum-- {
				ways[chosen][sum] += ways[chosen-1][sum-rank]
			}
		}
	}
	far, all := 0.0, 0.0
	for sum, n := range ways[size] {
		all += n
		if sum-expected >= distance || expected-sum >= distance {
			far += n
		}
	}
	return far / all
}

// normalProbability returns the probability that the sum of the doubled ranks differs from its expected value by at
// least "distance". The function uses the normal approximation.
func normalProbability(small, total int, ties float64, distance int) float64 {
	m, n := float64(small), float64(total)
	variance := m * (n - m) / 12 * (n + 1 - ties/(n*(n-1)))
	if variance <= 0 {
		return 1 // all values are equal
	}
	z := max(float64(distance)/2-0.5, 0) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}
