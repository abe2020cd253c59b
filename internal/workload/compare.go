package workload

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// MinStartUps is the minimum number of start-ups on each side of a comparison. To prove a difference, a comparison
	// needs at least 4 start-ups on each side, or at least 3 on one side and 5 on the other side. If several
	// comparisons belong to one question, each comparison needs even more start-ups. See leastP.
	MinStartUps = 3
	// noise is the significance level of the rank test. A difference counts as more than noise only if its p-value is
	// below this level.
	noise = 0.05
	// minPart is the minimum share of the whole difference: partsOf ignores a phase that contributes a smaller share.
	minPart = 0.05
	// maxUnproven is the maximum number of unproven phases in the result of partsOf.
	maxUnproven = 3
)

// compare compares two groups of start-ups. Several comparisons can belong to one question, for example one comparison
// for each node. The argument "comparisons" is the number of comparisons that belong to the question.
func compare(first, second []*sample, comparisons int) api.WorkloadDifference {
	total := func(s *sample) interval { return s.total }
	t := compareDurations(mapped(first, total), mapped(second, total), comparisons)
	d := api.WorkloadDifference{
		Verdict: t.verdict, Seconds: api.Seconds(t.difference), Error: api.Seconds(t.err), P: t.p,
		PWithErrors: t.pWithErrors, Parts: []api.WorkloadPart{}, Other: api.Seconds(t.difference),
	}
	if d.Verdict == api.MoreThanNoise {
		d.Parts, d.Unproven = partsOf(first, second, t.difference)
	}
	for _, part := range d.Parts {
		d.Other -= part.Seconds
	}
	return d
}

// tested is the result of a comparison of two groups of durations.
type tested struct {
	verdict         api.WorkloadVerdict
	difference, err time.Duration
	p, pWithErrors  float64
}

// compareDurations compares two groups of durations. A difference is more than noise only if both the rank test and the
// means show it. The rank test and the means must also show the difference with the least favorable values within the
// error bounds. The least favorable values are the largest durations in the faster group, and the smallest durations in
// the slower group.
func compareDurations(first, second []interval, comparisons int) tested {
	estimate := func(i interval) time.Duration { return i.estimate }
	low := func(i interval) time.Duration { return i.low }
	high := func(i interval) time.Duration { return i.high }
	difference := mean(mapped(second, estimate)) - mean(mapped(first, estimate))
	least := mean(mapped(second, low)) - mean(mapped(first, high))
	most := mean(mapped(second, high)) - mean(mapped(first, low))
	t := tested{verdict: api.TooFew, difference: difference, err: max(difference-least, most-difference)}
	if len(first) < MinStartUps || len(second) < MinStartUps {
		return t
	}
	sign := cmp.Compare(difference, 0)
	p, shift := RankTest(mapped(first, estimate), mapped(second, estimate))
	worst := 1.0
	switch {
	case sign > 0:
		worst = leastFavorable(mapped(first, high), mapped(second, low))
	case sign < 0:
		worst = leastFavorable(mapped(second, high), mapped(first, low))
	}
	corrected := func(p float64) float64 { return min(p*float64(comparisons), 1) }
	t.p, t.pWithErrors = corrected(p), corrected(worst)
	switch {
	case corrected(leastP(len(first), len(second))) >= noise:
	case t.p >= noise || sign == 0 || shift != sign:
		t.verdict = api.WithinNoise
	case t.pWithErrors >= noise || sign > 0 && least <= 0 || sign < 0 && most >= 0:
		t.verdict = api.WithinErrors
	default:
		t.verdict = api.MoreThanNoise
	}
	return t
}

// mapped returns the value of each element of a list.
func mapped[E, V any](list []E, value func(E) V) []V {
	values := make([]V, 0, len(list))
	for _, e := range list {
		values = append(values, value(e))
	}
	return values
}

// partsOf returns the phases that contribute to the difference. A rank test must confirm each contribution. partsOf
// tests only candidates: the phases that make up at least minPart of the difference. Unattributed time is never a
// candidate. If the rank test confirms no candidate, the result "unproven" contains the candidates whose means differ
// most. partsOf corrects each candidate's p-value for the number of candidates (Holm's method).
func partsOf(first, second []*sample, whole time.Duration) (parts, unproven []api.WorkloadPart) {
	parts = candidatesOf(first, second, whole)
	slices.SortFunc(parts, func(a, b api.WorkloadPart) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Cause, b.Cause))
	})
	supported := 0
	for i := range parts {
		parts[i].P = min(parts[i].P*float64(len(parts)-i), 1)
		if i > 0 {
			parts[i].P = max(parts[i].P, parts[i-1].P)
		}
		if parts[i].P < noise {
			supported = i + 1
		}
	}
	bySize := func(a, b api.WorkloadPart) int {
		return cmp.Or(cmp.Compare(max(b.Seconds, -b.Seconds), max(a.Seconds, -a.Seconds)),
			cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Cause, b.Cause))
	}
	if supported == 0 {
		slices.SortFunc(parts, bySize)
		return []api.WorkloadPart{}, parts[:min(len(parts), maxUnproven)]
	}
	parts = parts[:supported]
	slices.SortFunc(parts, bySize)
	return parts, nil
}

// candidatesOf returns the candidates for partsOf. Their p-values are not yet corrected for the number of candidates.
func candidatesOf(first, second []*sample, whole time.Duration) []api.WorkloadPart {
	before, after := meansByWork(first), meansByWork(second)
	both := maps.Clone(before)
	maps.Copy(both, after)
	candidates := []api.WorkloadPart{}
	for key := range both {
		difference := after[key] - before[key]
		if key.phase == timeline.PhaseUnattributed ||
			max(difference, -difference).Seconds() < minPart*max(whole, -whole).Seconds() {
			continue
		}
		timeOf := func(s *sample) interval { return s.timeOf(key) }
		t := compareDurations(mapped(first, timeOf), mapped(second, timeOf), 1)
		p := max(t.p, t.pWithErrors)
		if t.verdict != api.MoreThanNoise || cmp.Compare(t.difference, 0) != cmp.Compare(difference, 0) {
			p = 1
		}
		candidates = append(candidates, api.WorkloadPart{Phase: key.phase, Cause: key.cause,
			Seconds: api.Seconds(difference), Error: api.Seconds(t.err), P: p})
	}
	return candidates
}

func meansByWork(samples []*sample) map[work]time.Duration {
	means := map[work]time.Duration{}
	for _, phase := range phaseMeans(samples) {
		means[work{phase.Phase, phase.Cause}] = phase.Mean.Duration()
	}
	return means
}
