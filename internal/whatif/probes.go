package whatif

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// shortPeriod is the shortest period that Kubernetes allows for a probe.
const shortPeriod = time.Second

// probePeriods returns the changes that shorten the period of one probe to 1 s. probePeriods ignores probes with a
// period of at most 1 s, and probes that the start-up did not wait for.
func (s *startUp) probePeriods() (changes []change) {
	for i := range s.containers {
		container := &s.containers[i]
		for _, kind := range []timeline.ProbeKind{timeline.ProbeStartup, timeline.ProbeReadiness} {
			probe, known := container.probes[kind]
			if !known || probe.Period.Duration() <= shortPeriod || container.kind == timeline.KindInit {
				continue
			}
			if c, ok := s.probePeriod(container, kind, probe); ok {
				changes = append(changes, c)
			}
		}
	}
	return changes
}

// probePeriod returns the change that shortens the period of one probe to 1 s. The second result is false if the
// start-up did not wait for the probe.
func (s *startUp) probePeriod(container *container, kind timeline.ProbeKind, probe api.ProbeRecord) (change, bool) {
	id := api.WhatIfReadiness
	if kind == timeline.ProbeStartup {
		id = api.WhatIfStartup
	}
	c := s.newChange(id, container.name)
	c.upTo = true
	c.text = "with a " + string(kind) + " probe period of 1 s for " + container.name
	c.assumption = "if the probe takes as long as before"
	name := probePhases()[kind]
	waited, at := time.Duration(0), -1
	for i := range s.phases {
		if phase := &s.phases[i]; phase.Container == container.name &&
			(phase.Phase == name || slices.Contains(phase.MergedWith, name)) {
			waited, at = waited+longestTime(phase), i
		}
	}
	if at < 0 {
		return c, false
	}
	// The kubelet does not probe a container during its initial delay. The delay begins at the container's start time.
	// The kubelet truncates the start time to whole seconds, so the delay can end up to 1 s earlier.
	delay := max(probe.InitialDelay.Duration()-time.Second, 0)
	gain := shorterPeriod(probe, min(waited, max(container.ready.difference(container.final).high-delay, 0)))
	c.own = gain
	if kind == timeline.ProbeStartup && container.kind == timeline.KindSidecar {
		c.saved[at] = gain // the next container waits for the probe
		return c, true
	}
	for other, probe := range container.probes {
		if other != kind { // the wait for the other probe also varies by chance
			longest := relist + untilPassed(probe)
			gain = gain.plus(interval{-longest, longest})
		}
	}
	c.wait[container.name] = gain
	return c, container.name == s.last
}

// shorterPeriod returns how much earlier a container would pass a probe if the period were 1 s. The argument "possible"
// is the largest possible gain.
//
// The container became able to pass the probe at an unknown time between the last failure and the first success. If the
// container became able to pass the probe just before the first success, a shorter period would save nothing. In the
// next start-up, the kubelet probes at other times, so the first success can even be later. If the probe requires
// several successes, the time from one success to the next is at most one period. The time between two successes can be
// shorter than a period, because the kubelet also probes when another part of the pod changes.
func shorterPeriod(probe api.ProbeRecord, possible time.Duration) interval {
	successes := time.Duration(min(max(probe.SuccessThreshold, 1), maxContainers))
	next := max(shortPeriod, probe.Timeout.Duration())
	high := min(successes*betweenProbes(probe)+relist, possible)
	return interval{min(-successes*next-relist, high), high}
}

// waitMoved returns how much shorter the wait for a container's probes can become by chance. In the next start-up, the
// kubelet probes at other times. The first success of a probe comes at most one period after the container became able
// to pass the probe. If a probe requires several successes, the time between two successes is unknown, because the
// kubelet also probes when another part of the pod changes. The kubelet's first probe can also come later in the next
// start-up than in the recorded start-up. The second result is false if the container might have a probe with an
// unknown period.
func (s *startUp) waitMoved(c *container, end interval) (interval, bool) {
	wait := c.ready.difference(c.final)
	if c.kind == timeline.KindMain {
		wait.low = min(wait.low, c.ready.difference(end).low)
	}
	periods := firstProbes(c) - relist
	for kind := range c.awaited {
		if _, known := c.probes[kind]; !known {
			return interval{}, false
		}
	}
	earlier := periods
	if periods == 0 {
		earlier = relist
	}
	return interval{-periods - max(relist-max(wait.low, 0), 0), min(earlier, max(wait.high, 0))}, true
}

// probePhases maps each kind of probe to the phase in which a start-up waits for the probe.
func probePhases() map[timeline.ProbeKind]timeline.Phase {
	return map[timeline.ProbeKind]timeline.Phase{
		timeline.ProbeStartup: timeline.PhaseStartupProbe, timeline.ProbeReadiness: timeline.PhaseReadinessProbe,
	}
}

// betweenProbes returns the longest time from the start of a probe to the start of the next probe. If a probe gets no
// response, the kubelet starts the next probe only after the timeout.
func betweenProbes(p api.ProbeRecord) time.Duration { return max(p.Period, p.Timeout, 0).Duration() }

// firstProbes returns the longest time from the end of the kubelet's work until a container is ready. firstProbes
// assumes that the container's probes never fail.
func firstProbes(c *container) time.Duration {
	longest := relist
	for _, probe := range c.probes {
		longest += untilPassed(probe)
	}
	return longest
}

// untilPassed returns the longest time from the moment when the kubelet can run a probe until the container has passed
// the probe. untilPassed assumes that no attempt of the probe fails.
func untilPassed(p api.ProbeRecord) time.Duration {
	return betweenProbes(p) * time.Duration(min(max(p.SuccessThreshold, 1), maxContainers))
}

// unprobed reports whether a container certainly has no startup probe and no readiness probe.
func (c *container) unprobed() bool { return len(c.probes) == 0 && len(c.awaited) == 0 }
