package scenario

import "math"

// pairedDifferences summarizes the differences between paired measurements. For example, one measurement of each pair
// is with agents, and the other measurement is without agents. The values are durations or bytes.
type pairedDifferences[T ~int64] struct {
	mean, standardError T
	pairs               int
}

// pair summarizes the given differences. The function needs at least two differences.
func pair[T ~int64](differences []T) pairedDifferences[T] {
	n := float64(len(differences))
	var sum, squares float64
	for _, d := range differences {
		sum += float64(d)
	}
	for _, d := range differences {
		squares += (float64(d) - sum/n) * (float64(d) - sum/n)
	}
	return pairedDifferences[T]{mean: T(sum / n), standardError: T(math.Sqrt(squares / (n - 1) / n)),
		pairs: len(differences)}
}

// atMost returns an upper bound of the true mean difference, with 95 % confidence. atMost assumes that the differences
// are independent and normally distributed.
func (p pairedDifferences[T]) atMost() T {
	return p.mean + T(student95(p.pairs-1)*float64(p.standardError))
}

// atLeast returns a lower bound of the true mean difference, under the same conditions as atMost.
func (p pairedDifferences[T]) atLeast() T { return 2*p.mean - p.atMost() }

// student95 returns the one-sided 95 % quantile of Student's t-distribution with the given degrees of freedom. If the
// table has no entry for these degrees of freedom, student95 returns the last entry, which is slightly too large.
func student95(freedom int) float64 {
	quantiles := [...]float64{6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812}
	return quantiles[min(freedom, len(quantiles))-1]
}
