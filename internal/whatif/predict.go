package whatif

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// gainLeast is the minimum gain. If the low end of the gain's interval is less than gainLeast, Predict makes no
	// prediction for the change. If the gain depends on chance, Predict does not use the low end, but compares
	// gainLeast with the average gain from the change itself.
	gainLeast = 500 * time.Millisecond
	// variation is a divisor. totalAfter lowers the low end of its interval by a tenth, and raises the high end by a
	// tenth. In the next start-up, the steps that the change does not affect can take up to 10 % more or less time.
	variation = 10
)

// Predict returns the changes that would make a start-up faster, with the largest gain first. The second result
// contains changes of unknown effect that might save much time. If the start-up did not end in the state ready or
// succeeded, both lists are empty.
func Predict(record api.Record) (predictions []api.WhatIfRecord, unknown []api.WhatIfUnknown) {
	s, ok := newStartUp(&record)
	if !ok {
		return nil, nil
	}
	for _, c := range s.candidateChanges() {
		if !c.canSave() {
			continue
		}
		gain, ok := s.gainOf(c)
		kept := s.keptTime(c)
		// Readers compare the gain with s.total, so the gain must not exceed s.total.
		gain.high = min(gain.high, s.total+s.totalError-kept, s.total)
		total := s.totalAfter(gain, kept)
		if c.upTo {
			gain.high = min(gain.high, c.own.high)
		}
		gain.low = min(gain.low, gain.high)
		if !ok || !isWorthwhile(c, gain) {
			if u, ok := s.unknownEffect(c, gain, ok); ok {
				unknown = append(unknown, u)
			}
			continue
		}
		p := api.WhatIfRecord{
			Change: c.id, Container: c.container, Text: c.text, Assumption: c.assumption,
			TotalLeast: api.Seconds(total.low), TotalMost: api.Seconds(total.high),
			Gain: api.Seconds(c.estimatedGain(gain)), GainLeast: api.Seconds(gain.low),
			GainMost: api.Seconds(gain.high),
		}
		p.Effect = effectText(p, record.Total)
		predictions = append(predictions, p)
	}
	slices.SortStableFunc(predictions, func(a, b api.WhatIfRecord) int {
		return cmp.Compare(b.GainLeast+b.GainMost, a.GainLeast+a.GainMost)
	})
	return predictions, unknown
}

// canSave reports whether a change can save time. Many changes save nothing, so Predict computes a gain only
// for changes that can save time.
func (c change) canSave() bool {
	positive := func(i interval) bool { return i.high > 0 }
	return len(c.wait)+len(c.restarts) > 0 || slices.ContainsFunc(c.saved, positive)
}

// isWorthwhile reports whether a gain is certain and large enough. The gain of a shorter probe period depends on chance
// and is never certain. For a shorter probe period, isWorthwhile requires only that the average gain from the change
// itself is large enough.
func isWorthwhile(c change, gain interval) bool {
	if c.upTo {
		return interval{c.own.low, gain.high}.middle() >= gainLeast
	}
	return gain.low >= gainLeast && gain.low >= c.unsure
}

// estimatedGain returns the estimate of the gain. estimatedGain adds up the times that a change saves in the phases and
// restarts. Then estimatedGain limits the sum to the interval of the gain. If the saved time depends on chance, the
// result is 0.
func (c change) estimatedGain(gain interval) (sum time.Duration) {
	if c.upTo {
		return 0
	}
	for _, saved := range c.saved {
		sum += saved.middle()
	}
	for _, saved := range c.restarts {
		sum += saved.middle()
	}
	return min(max(sum, gain.low), gain.high)
}

// keptTime adds up the minimum times of the steps that a change does not shorten. The kubelet does the steps one after
// the other, so their times add up. The sum excludes probes, readiness gates, failed runs and their back-off, and the
// gaps between steps.
func (s *startUp) keptTime(c change) (sum time.Duration) {
	for i := range s.phases {
		phase := &s.phases[i]
		if p := phase.Phase; p.IsFinalWait() || p == timeline.PhaseFailedRun || p == timeline.PhaseCrashBackoff {
			continue
		}
		if c.saved[i].high == 0 && len(phase.MergedWith) == 0 && !phase.Phase.IsGroup() {
			sum += max(phase.Length.Duration()-phase.Error.Duration(), 0)
		}
	}
	return sum
}

// totalAfter returns the duration that the start-up would have with a change, as an interval. The argument "kept" is
// the minimum time of the steps that the change does not shorten.
func (s *startUp) totalAfter(gain interval, kept time.Duration) interval {
	low, high := max(s.total-s.totalError-gain.high, kept), s.total+s.totalError-gain.low
	return interval{max(low-low/variation, 0), high + high/variation}
}
