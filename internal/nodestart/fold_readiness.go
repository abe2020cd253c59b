package nodestart

import "slices"

// readiness returns when the condition Ready first became true after the boot.
func (f *fold) readiness() known {
	r := slices.IndexFunc(f.states, func(s state) bool { return s.ready })
	if r < 0 {
		return known{}
	}
	s, from := f.states[r], f.registered.earliest
	if i, ok := f.firstEvent(ReasonReady); ok && !i.earliest.After(s.arrivedAt) && !s.changedAt.IsZero() &&
		!i.earliest.After(s.changedAt.Add(second)) && !f.lostReadiness(i) {
		return knownAs(i, sourceEvents, sourceNode)
	}
	if s.changedAt.IsZero() { // the condition Ready became true before the boot, or has no lastTransitionTime
		if r > 0 && !f.states[r-1].sureAt.IsZero() {
			from = f.states[r-1].sureAt
		}
		return knownAs(interval{earlier(from, s.arrivedAt), s.arrivedAt, s.arrivedAt}, sourceNode)
	}
	i := truncated(s.changedAt, second)
	if r > 0 && !s.arrivedAt.Before(i.earliest) && s.arrivedAt.Before(i.latest) {
		i.at = s.arrivedAt // a watch delivers changes within milliseconds
	}
	i = i.notAfter(s.arrivedAt)
	if !f.neverReadyBefore(r) {
		f.missing = append(f.missing, "ready")
		i.earliest = earlier(i.earliest, later(f.registered.earliest, f.boot.At))
	}
	return knownAs(i, sourceNode)
}

// networkAvailability returns the first known time at which the condition NetworkUnavailable became false. A new Node
// object does not have this condition yet. A Node object that is older than the boot can have an outdated condition,
// because the kubelet does not change the condition after a reboot. If the Node object is older than the boot, and its
// first known version has the condition with the value false, networkAvailability ignores this value.
func (f *fold) networkAvailability() known {
	for i, s := range f.states {
		if !s.networkAvailable() || i == 0 && !f.createdAfterBoot() || i > 0 && f.states[i-1].networkAvailable() {
			continue
		}
		became := f.changeTo(i)
		if i == 0 {
			became.earliest = later(became.earliest, f.registered.earliest)
		}
		if s.network.ChangedAt.IsZero() {
			return became
		}
		// The component that writes the condition runs on the node or on the control plane. So the interval covers both
		// clocks.
		stamp := f.controlPlaneInterval(s.network.ChangedAt)
		if i == 0 || s.gap {
			// Some network plugins write the condition with a new timestamp when they restart. So the condition can
			// have become false before this timestamp.
			stamp.earliest = became.earliest
		}
		// If the timestamp contradicts the time of the arrival, the writer's clock differs from the node's clock, and
		// the timestamp is not used.
		if !stamp.latest.Before(became.earliest) && !stamp.earliest.After(became.latest) {
			became.interval = interval{later(stamp.earliest, became.earliest), earlier(stamp.latest, became.latest),
				stamp.at}.withEstimateInside()
		}
		return became
	}
	return known{}
}

// lostReadiness reports whether the node might have been ready before the given Event NodeReady. If the kubelet
// registers a node that is already ready, it creates no Event NodeReady. When a ready node becomes not ready, the
// kubelet creates an Event NodeNotReady. After a reboot, the kubelet's first status can change the condition Ready to
// false. So lostReadiness ignores an Event NodeNotReady less than a second before or after the Event about the reboot.
// If the kubelet restarted after the registration, Events from before the restart can be lost.
func (f *fold) lostReadiness(ready interval) bool {
	rebooted, ok := f.firstEvent(ReasonRebooted)
	started, _ := f.firstEvent(ReasonStarting)
	return slices.ContainsFunc(f.events, func(e Event) bool {
		first := ok && e.At.Sub(rebooted.at).Abs() < second
		again := e.Reason == ReasonStarting && f.registered.isKnown &&
			(e.At.Add(-eventDelay).After(f.registered.latest) ||
				e.At.After(f.registered.earliest) && e.At.After(started.latest))
		return (e.Reason == ReasonNotReady && !first || again) && !e.At.Before(f.boot.At) && e.At.Before(ready.latest)
	})
}

// neverReadyBefore reports whether the node was certainly not ready between the registration and the state with the
// given index. The result is true only if the first known state is not ready, and if its condition Ready is unchanged
// since the registration.
func (f *fold) neverReadyBefore(index int) bool {
	for _, s := range f.states[:index] {
		if s.gap {
			return false
		}
	}
	return index > 0 && f.isUnchangedSinceRegistration(f.states[0]) && !f.states[index].gap
}

// isUnchangedSinceRegistration reports whether the condition Ready has not changed since the kubelet registered the
// node. If the condition changed after the registration, the node might have been ready before the change.
func (f *fold) isUnchangedSinceRegistration(s state) bool {
	if !f.registered.isKnown || s.changedAt.IsZero() || s.changedAt.After(f.registered.latest.Add(firstStatus)) {
		return false
	}
	if f.createdAfterBoot() {
		// If the control plane's clock differs from the node's clock, the interval that contains the registration can
		// be long, and its end can be long after the registration. So the result is true only if the condition Ready
		// changed close to the beginning of this interval.
		return f.registeredBefore().IsZero() && !s.changedAt.After(f.registered.earliest.Add(second+firstStatus))
	}
	// If the Node object is older than the boot, f.registered is derived from the kubelet's timestamps, and s.changedAt
	// can be one of them. So a comparison of s.changedAt with f.registered proves nothing. If the condition changed at
	// most firstStatus after the Event about the reboot, s is certainly the kubelet's first status. At f.absentFrom,
	// the API server had no Node object of this boot yet. If a status arrived less than justBefore after f.absentFrom,
	// the node had no time to become ready before this status.
	rebooted, ok := f.firstEvent(ReasonRebooted)
	return ok && !s.changedAt.After(rebooted.latest.Add(firstStatus)) ||
		!f.absentFrom.IsZero() && s.arrivedAt.Sub(f.absentFrom) < justBefore
}
