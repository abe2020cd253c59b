package whatif

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// relist is the longest time that the kubelet usually needs to detect that an init container ended, or that a container
// started. The kubelet waits 1 s between two lists of the runtime's containers (genericPlegRelistPeriod in
// pkg/kubelet). In the next start-up, the kubelet can detect the same step up to relist earlier or later.
const relist = 1100 * time.Millisecond

const (
	// A phase that is not longer than waitLeast does not count as a wait for something outside the pod.
	waitLeast = 100 * time.Millisecond
	// longWork is the longest time that a phase for volumes, devices or the network usually takes. A longer phase can
	// contain a wait for something outside the pod.
	longWork = 2 * time.Second
)

// change describes one possible change of a start-up, and the time that the change saves.
type change struct {
	id         api.WhatIf
	container  string // empty if the change concerns the whole pod
	text       string
	assumption string // a clause that begins with "if"
	// saved contains the saved time of each phase of the start-up.
	saved []interval
	doubt []bool // true for each phase whose time can also belong to other phases
	// wait maps a container to the time that the change saves between the start of its process and its readiness.
	wait map[string]interval
	// restarts maps a container to the time that the change saves between the starts of its first and its latest run.
	// The time in "restarts" does not include the time in the field "saved".
	restarts map[string]interval
	// unsure is the time that the change might or might not save. The evidence does not show to which phase the unsure
	// time belongs.
	unsure time.Duration
	upTo   bool // true if chance decides whether the change saves time
	// own is the time that the change itself can save. The field "own" is set only if upTo is true. The gain also
	// includes the time that other steps can save or lose by chance.
	own interval
}

// gainOf returns how much earlier the start-up would end because of a change. The pod is ready when its last container
// is ready. If a change affects one container, the other containers limit the gain. If the evidence does not limit the
// gain, the result "ok" is false.
//
// The gain is the duration of the recorded start-up minus the duration of the next start-up. The kubelet lists and
// probes containers periodically, so the wait for the next list or probe varies by chance.
func (s *startUp) gainOf(c change) (gain interval, ok bool) {
	work, ok := s.workEarlier(c)
	if !ok || s.record.State == timeline.StateSucceeded {
		return work, ok
	}
	end := s.workEnd
	gain = work.plus(atLeastZero(s.ready.difference(end)))
	for i := range s.containers {
		target := &s.containers[i]
		if target.kind == timeline.KindInit {
			continue
		}
		if target.kind == timeline.KindMain && target.unprobed() {
			// The kubelet first completes its work on all main containers, and then reports the container as ready. The
			// change does not shorten the time from the end of this work to the report.
			gain.low = min(gain.low, work.low+min(atLeastZero(s.ready.difference(end)).low-relist, 0))
			continue
		}
		earlier, ok := s.readyEarlier(c, target, end)
		if !ok {
			return interval{}, false
		}
		gain = smaller(gain, earlier)
	}
	if s.endsWithOthers(c) {
		return interval{}, false
	}
	return gain, true
}

// readyEarlier returns how much earlier the pod could be ready with the change, if the pod waited only for the
// container "target" to become ready. The argument "end" is the end of the kubelet's work on all main containers. The
// kubelet probes only containers in the pod's status, and it updates the status after its work on all main containers.
// So the kubelet does not probe a main container before the time "end".
func (s *startUp) readyEarlier(c change, target *container, end interval) (interval, bool) {
	earlier, ok := s.startsEarlier(c, target)
	if !ok {
		return interval{}, false
	}
	wait, changes := c.wait[target.name]
	if !changes {
		if wait, ok = s.waitMoved(target, end); !ok {
			return interval{}, false
		}
	}
	earlier = earlier.plus(wait).plus(c.restarts[target.name])
	if target.name != s.last {
		earlier = earlier.plus(atLeastZero(s.ready.difference(target.ready)))
	}
	if target.kind == timeline.KindMain && !changes && target.ready.difference(end).low <= firstProbes(target) {
		// No limit: perhaps the container could have passed its probes long before the first probe.
		earlier.high = maxLength
	}
	return earlier, true
}

// endsWithOthers reports whether the readiness of the pod can depend on something that the model cannot predict. The
// result is true in three cases:
//   - The pod might have waited for a readiness gate.
//   - Even with the change, a group phase, which stands for several phases, can contain a wait for something outside
//     the pod. If c.wait and c.restarts are empty, only the group phases after the first shortened phase count.
//   - A main container or a sidecar restarted, and the change does not name this container.
//
// If a container restarts while the kubelet works on other containers, the record might not show all failed runs.
func (s *startUp) endsWithOthers(c change) bool {
	if s.restarted(c) != nil {
		return true
	}
	begun := len(c.wait)+len(c.restarts) > 0
	for i := range s.phases {
		phase := &s.phases[i]
		if slices.Contains(phasesOf(phase), timeline.PhaseReadinessGates) ||
			begun && phase.Phase.IsGroup() && s.mayStillWait(c, i) {
			return true
		}
		begun = begun || c.saved[i].high > 0
	}
	return false
}

// restarted returns a main container or a sidecar that restarted. restarted ignores the container that the change
// names. If restarted finds no container, the result is nil.
func (s *startUp) restarted(c change) *container {
	for i := range s.containers {
		other := &s.containers[i]
		if other.kind != timeline.KindInit && other.name != c.container && other.finalAttempt != other.firstAttempt {
			return other
		}
	}
	return nil
}

// mayStillWait reports whether, even with the change, a phase can contain a wait for something outside the pod. The
// argument "i" is the index of the phase.
func (s *startUp) mayStillWait(c change, i int) bool {
	return s.spans[i].others && (c.saved[i].high < s.spans[i].most || c.doubt[i])
}

// addWork finds the end of the kubelet's own work in the start-up. The work ends before the last waits for probes and
// readiness gates. Post-start hooks are part of the work, because a pod is not ready before the hook of its last
// container has ended.
func (s *startUp) addWork() {
	last, hidden := -1, false // "hidden" is true if a group phase after the last known work can contain more work
	for i := range s.phases {
		if phase := s.phases[i].Phase; !phase.IsFinalWait() {
			if hidden = phase.IsGroup(); !hidden {
				last = i
			}
		}
	}
	if last < 0 {
		return
	}
	work := *s
	work.phases, work.spans, work.containers = s.phases[:last+1], s.spans[:last+1], slices.Clone(s.containers)
	work.addWaits()
	at, bound := s.spans[last].end, s.phases[last].Error.Duration()
	s.work, s.workEnd = &work, interval{at - bound, at + bound}
	if hidden {
		s.workEnd.high = s.ready.high
	}
}

// workEarlier returns how much earlier the kubelet would complete its own work because of a change.
func (s *startUp) workEarlier(c change) (sum interval, ok bool) {
	if s.work == nil {
		return sum, false
	}
	if sum, ok = s.work.startsEarlier(c, nil); !ok {
		return sum, false
	}
	for _, more := range c.restarts {
		sum = sum.plus(more)
	}
	return sum, true
}

// startsEarlier returns how much earlier the container "target" would start because of a change. If target is nil, the
// method adds up the saved time of all phases. If the pod might still wait for something outside the pod after the
// first shortened phase, the result "ok" is false. A wait for something outside the pod would begin earlier, but might
// not end earlier. If chanceShift returns false, the result "ok" is also false.
func (s *startUp) startsEarlier(c change, target *container) (sum interval, ok bool) {
	begun := false
	for i := range s.phases {
		certain, possible := s.precedes(i, target)
		if !possible {
			continue
		}
		saved := c.saved[i]
		if begun && s.mayStillWait(c, i) {
			return sum, false
		}
		if !certain {
			saved.low = min(saved.low, 0)
		}
		begun = begun || saved.high > 0
		sum = sum.plus(saved)
	}
	moved, ok := s.chanceShift(c, target)
	return sum.plus(moved), ok
}

// precedes compares a phase with the start of a container. The argument "i" is the index of the phase. The result
// "certain" is true if the phase certainly ended before the container's first start. If the phase belongs to this
// container, the container's latest start counts instead. The result "possible" is true if the phase might have begun
// before the container's latest start.
func (s *startUp) precedes(i int, target *container) (certain, possible bool) {
	if target == nil {
		return true, true
	}
	first, final, end := target.firstStart, target.finalStart, s.spans[i].end
	certain = end <= first.low || s.phases[i].Container == target.name && end <= final.low
	return certain, certain || s.spans[i].start < final.high
}

// startOf returns the start of a container's first run. If the argument "first" is false, startOf returns the start of
// the latest run. If the record has a phase container_start for the run, both ends of the interval are the end of this
// phase. startOf ignores the error bound of the phase. Phases do not overlap, so every other phase certainly comes
// before or after the phase container_start.
func (s *startUp) startOf(c *container, first bool) interval {
	at, attempt := c.final, c.finalAttempt
	if first {
		at, attempt = c.first, c.firstAttempt
	}
	for i := range s.phases {
		phase := &s.phases[i]
		if phase.Phase == timeline.PhaseContainerStart && phase.Container == c.name && phase.Attempt == attempt {
			end := s.since(phase.EndAt)
			return interval{end, end}
		}
	}
	return at
}

// chanceShift returns how much earlier a container can start by chance. A negative value means that the container
// starts later. The result does not include the time that the change saves. The kubelet lists containers periodically,
// so the time until the kubelet detects the end or the start of a previous container varies. For a sidecar with a
// startup probe, chanceShift also widens the interval by one probe period at each end. If the period of a sidecar's
// startup probe is unknown, the result "ok" is false. If target is nil, the method adds up the variations of all
// containers.
func (s *startUp) chanceShift(c change, target *container) (sum interval, ok bool) {
	for i := range s.containers {
		before := &s.containers[i]
		if target != nil && before.name == target.name && before.kind != timeline.KindMain {
			return sum, true
		}
		if before.kind == timeline.KindMain && target != nil && before.name != target.name {
			continue // the kubelet does not wait for a main container
		}
		if c.id == api.WhatIfNoCrash && c.container == before.name {
			sum = sum.plus(before.listedNoCrash)
		} else {
			sum = sum.plus(before.listed)
		}
		if probe, known := before.probes[timeline.ProbeStartup]; known && before.kind == timeline.KindSidecar {
			between := betweenProbes(probe)
			sum = sum.plus(interval{-between, between})
		} else if before.kind == timeline.KindSidecar && before.awaited[timeline.ProbeStartup] {
			return sum, false
		}
	}
	return sum, true
}

// listedEarlier returns how much earlier, by chance, the kubelet can detect that a container's runs ended, or that a
// sidecar started. If noCrash is true, listedEarlier ignores failed runs.
func (s *startUp) listedEarlier(of *container, noCrash bool) (sum interval) {
	waits := 0
	if !noCrash {
		waits = of.finalAttempt - of.firstAttempt // one wait for the end of each failed run
	}
	if of.kind != timeline.KindMain {
		waits++
	}
	for i := range s.phases {
		phase := &s.phases[i]
		ends := phase.Phase == timeline.PhaseInitRun || phase.Phase == timeline.PhaseFailedRun && !noCrash ||
			phase.Phase == timeline.PhaseContainerStart && of.kind == timeline.KindSidecar
		if waits > 0 && ends && phase.Container == of.name && i+1 < len(s.phases) &&
			s.phases[i+1].Phase == timeline.PhaseKubeletSync {
			sum = sum.plus(interval{-relist, min(relist, longestTime(&s.phases[i+1]))})
			waits--
		}
	}
	all := time.Duration(min(max(waits, 0), maxContainers)) * relist
	return sum.plus(interval{-all, all})
}

// waitsFor reports whether the start-up might contain the phase "name" of the container.
func (s *startUp) waitsFor(c *container, name timeline.Phase) bool {
	return slices.ContainsFunc(s.phases, func(p api.PhaseRecord) bool {
		return (p.Phase == name || slices.Contains(p.MergedWith, name)) &&
			(p.Container == c.name || len(s.record.Probes) == 0)
	})
}

// waitsForOthers reports whether the end of a phase can depend on something outside the pod. A phase that depends on
// something outside the pod can take longer if it begins earlier.
func waitsForOthers(phase *api.PhaseRecord) bool {
	length := longestTime(phase)
	if phase.Phase == timeline.PhaseUnattributed && len(phase.MergedWith) == 0 {
		return length > waitLeast
	}
	for _, name := range phasesOf(phase) {
		if name.WaitsForOthers() && length > waitLeast {
			return true
		}
		switch name {
		case timeline.PhaseVolumes, timeline.PhaseDevice, timeline.PhaseNetwork:
			if length > longWork {
				return true
			}
		}
	}
	return false
}

// phasesOf returns all phases that the time of one phase in the record can belong to. If the record names no candidates
// for a group phase, the list is empty.
func phasesOf(phase *api.PhaseRecord) []timeline.Phase {
	if phase.Phase.IsGroup() {
		return phase.MergedWith
	}
	return append([]timeline.Phase{phase.Phase}, phase.MergedWith...)
}

// longestTime returns the longest possible time of a phase.
func longestTime(phase *api.PhaseRecord) time.Duration {
	return phase.Length.Duration() + phase.Error.Duration()
}
