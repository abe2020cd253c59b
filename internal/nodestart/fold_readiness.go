package nodestart

import "slices"

// readiness is the first time after the boot at which the condition Ready became true.
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
	if s.changedAt.IsZero() { // the condition was true before the boot, or the object has no lastTransitionTime
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

// networkAvailability is the first known time at which the condition NetworkUnavailable became false. A new Node object
// does not have the condition NetworkUnavailable yet. The kubelet does not change the condition after a reboot, so a
// Node object from before the boot can have an outdated condition. If the first known version of such an old object
// already has the condition with the value false, the result is unknown.
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
		// The component that writes the condition runs on the node or on the control plane. The interval is therefore
		// wide enough for the clocks of both.
		stamp := f.controlPlaneInterval(s.network.ChangedAt)
		if i == 0 || s.gap {
			// Some network plugins write the condition with a new timestamp when they restart. So the true change to
			// false can be earlier than the timestamp.
			stamp.earliest = became.earliest
		}
		// If the timestamp contradicts the time of the arrival, the writer's clock differs from the node's clock.
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
// kubelet creates an Event NodeNotReady. After a reboot, the kubelet's first status can make the condition Ready false.
// So an Event NodeNotReady close to the Event about a reboot does not prove that the node was ready after the boot. If
// the kubelet started again after the registration, Events of the earlier kubelet can be lost.
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

// neverReadyBefore reports whether evidence proves that the node was not ready between the registration and the state
// with the given index. In the first known state, the condition Ready must not be true, and must be unchanged since the
// registration.
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
		// be long. So the result is true only if the condition Ready changed close to the beginning of this interval.
		return f.registeredBefore().IsZero() && !s.changedAt.After(f.registered.earliest.Add(second+firstStatus))
	}
	// If the Node object is from before the boot, f.registered depends on the kubelet's timestamps, so comparing
	// s.changedAt with f.registered proves nothing. If the condition changed within firstStatus after the Event about
	// the reboot, the status is certainly the kubelet's first status. If the status arrived less than justBefore after
	// f.absentFrom, the node had no time to become ready before this status.
	rebooted, ok := f.firstEvent(ReasonRebooted)
	return ok && !s.changedAt.After(rebooted.latest.Add(firstStatus)) ||
		!f.absentFrom.IsZero() && s.arrivedAt.Sub(f.absentFrom) < justBefore
}
