package whatif

import (
	"fmt"
	"strings"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// effectText describes the new duration, as an estimate and an interval. If the interval of the new duration contains
// the old duration, effectText describes the saved time instead. The interval of the saved time is narrower than the
// interval of the new duration, because it excludes the variation of the steps that the change does not affect. If the
// change might save nothing, effectText describes only the longest time that the change can save. If the saved time
// depends on chance, the text contains no estimate.
func effectText(p api.WhatIfRecord, total api.Seconds) string {
	within := func(estimate, least, most api.Seconds, what string) string {
		interval := strings.TrimSuffix(tenths(least), " s") + " to " + tenths(most)
		if p.Gain <= 0 {
			return interval + " " + what
		}
		return fmt.Sprintf("about %s %s (%s)", tenths(estimate), what, interval)
	}
	switch {
	case p.GainLeast <= 0:
		return "up to " + tenths(p.GainMost) + " earlier"
	case p.TotalMost >= total:
		return within(p.Gain, p.GainLeast, p.GainMost, "earlier")
	}
	return within(total-p.Gain, p.TotalLeast, p.TotalMost, "instead of "+tenths(total))
}

// meanText describes the mean effect of a change on the start-ups that have a prediction for this change.
func meanText(m api.WhatIfMean) string {
	effect := effectText(api.WhatIfRecord{TotalLeast: m.TotalLeast, TotalMost: m.TotalMost, Gain: m.Gain,
		GainLeast: m.GainLeast, GainMost: m.GainMost}, m.Total)
	noun := "start-ups"
	if m.Of == 1 {
		noun = "start-up"
	}
	return fmt.Sprintf("on average %s in %d of %d %s", effect, m.StartUps, m.Of, noun)
}

// tenths formats a duration in seconds, with one decimal place.
func tenths(s api.Seconds) string { return timeline.SecondsText(s.Duration(), 1) }
