package scenario

import "math"

// paired is what pairs, one with and one without something, differ by: lengths of time or bytes.
type paired[T ~int64] struct {
	mean, standardError T
	pairs               int
}

// pair takes two differences or more.
func pair[T ~int64](differences []T) paired[T] {
	n := float64(len(differences))
	var sum, squares float64
	for _, d := range differences {
		sum += float64(d)
	}
	for _, d := range differences {
		squares += (float64(d) - sum/n) * (float64(d) - sum/n)
	}
	return paired[T]{mean: T(sum / n), standardError: T(math.Sqrt(squares / (n - 1) / n)), pairs: len(differences)}
}

// atMost is what the true difference is below with a confidence of 95 %, if chance alone spreads the pairs.
func (p paired[T]) atMost() T {
	return p.mean + T(student95(p.pairs-1)*float64(p.standardError))
}

// student95 is the one-sided 95 % quantile of Student's distribution. With more freedom than the table has, it is a little
// too large.
func student95(freedom int) float64 {
	quantiles := [...]float64{6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812}
	return quantiles[min(freedom, len(quantiles))-1]
}
