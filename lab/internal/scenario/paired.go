package scenario

import (
	"math"
	"time"
)

// paired is what pairs of blocks, one with and one without something, differ by.
type paired struct {
	mean, standardError time.Duration
	pairs               int
}

// pair takes two differences or more.
func pair(differences []time.Duration) paired {
	n := float64(len(differences))
	var sum, squares float64
	for _, d := range differences {
		sum += float64(d)
	}
	for _, d := range differences {
		squares += (float64(d) - sum/n) * (float64(d) - sum/n)
	}
	return paired{mean: time.Duration(sum / n), standardError: time.Duration(math.Sqrt(squares / (n - 1) / n)), pairs: len(differences)}
}

// atMost is what the true difference is below with a confidence of 95 %, if chance alone spreads the pairs.
func (p paired) atMost() time.Duration {
	return p.mean + time.Duration(student95(p.pairs-1)*float64(p.standardError))
}

// student95 is the one-sided 95 % quantile of Student's distribution. With more freedom than the table has, it is a little
// too large.
func student95(freedom int) float64 {
	quantiles := [...]float64{6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812}
	return quantiles[min(freedom, len(quantiles))-1]
}
