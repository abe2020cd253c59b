package whatif

import (
	"fmt"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// unknownLeast is a divisor. Predict reports a change of unknown effect only if the change removes enough time: the
// removed steps certainly took at least a quarter of the start-up.
const unknownLeast = 4

// unknownEffect returns the reason why a change has no prediction. The second result is false if the change would save
// too little time, or if unknownEffect finds no reason. If the evidence does not limit the gain, the argument "bounded"
// is false.
func (s *startUp) unknownEffect(c change, gain interval, bounded bool) (api.WhatIfUnknown, bool) {
	u := api.WhatIfUnknown{Change: c.id, Container: c.container, Text: c.text}
	removed := time.Duration(0)
	for _, saved := range c.saved {
		removed += saved.low
	}
	if c.upTo || removed < max(gainLeast, s.total/unknownLeast) {
		return u, false
	}
	switch {
	case !bounded:
		u.Reason = s.waitAfter(c)
	case c.unsure > max(gain.low, 0):
		u.Reason = "the evidence does not separate the saved time from other steps"
	case gain.high >= gainLeast:
		u.Reason = s.probeByChance(gain)
	}
	return u, u.Reason != ""
}

// waitAfter returns the reason why the evidence does not limit the effect of a change. The reason is a later wait for
// something outside the pod, or a restarted container whose failed runs the record might not show. If the record shows
// neither such a wait nor such a container, the result is empty.
func (s *startUp) waitAfter(c change) string {
	if other := s.restarted(c); other != nil {
		return "the record might not show all failed runs of " + other.name
	}
	begun := len(c.wait)+len(c.restarts) > 0
	for i := range s.phases {
		if begun && s.mayStillWait(c, i) {
			name := strings.ReplaceAll(string(s.phases[i].Phase), "_", " ")
			return fmt.Sprintf("the pod might wait in a later phase (%s), and such a wait might not end earlier", name)
		}
		begun = begun || c.saved[i].high > 0
	}
	return ""
}

// probeByChance describes the probes that prevent a prediction because their periods are too long. If the low end of
// the gain would be less than gainLeast even without the delay by these probes, the result is empty.
func (s *startUp) probeByChance(gain interval) string {
	var slowest *container
	var longest time.Duration
	for i := range s.containers {
		c := &s.containers[i]
		if by := firstProbes(c) - relist; c.kind != timeline.KindInit && by > longest {
			slowest, longest = c, by
		}
	}
	if slowest == nil || gain.low+longest < gainLeast {
		return ""
	}
	probes := "probes"
	for kind := range slowest.probes {
		if len(slowest.probes) == 1 {
			probes = string(kind) + " probe"
		}
	}
	return fmt.Sprintf("the %s of %s might succeed up to %s later by chance", probes, slowest.name,
		tenths(api.Seconds(longest)))
}
