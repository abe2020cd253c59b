package timeline

import "time"

// restartTakes is the shortest time between the kubelet's first request to stop a container and its next such request
// after a restart of the kubelet. After its start, the kubelet waits for at least 1 s before it lists its pods
// (kubelet: config/apiserver.go, WaitForAPIServerSyncPeriod). A killed process usually ends within 0.1 s. So if a
// container stops at most 1 s after the end of its grace period, the reason is a slow kill, and not a restart of the
// kubelet.
const restartTakes = instant(time.Second)

// stopsBy returns the latest time at which the runtime kills a container. stopsBy assumes that the kubelet sends only
// one stop request, at the time "begun". If a client shortens the grace period, stopsBy uses the latest possible end
// of the grace period. Sidecars and all containers with a pre-stop hook get leastGrace in addition to their grace
// period.
func (f *terminationFold) stopsBy(name string, begun instant) instant {
	by := begun + instant(max(f.e.longest, leastGrace))
	if f.e.shortened {
		by = max(by, f.e.shortestAt+instant(f.killAfter()))
	}
	return by + instant(f.extraGrace(name))
}

// extraGrace returns the time that a container can have in addition to its grace period.
func (f *terminationFold) extraGrace(name string) time.Duration {
	if f.killedOnTime(name) {
		return 0
	}
	return leastGrace
}

// stoppedLate returns true if the kubelet's first stop request does not explain a container's end. If nothing cancels
// the stop request, the runtime kills a container that still runs at the end of the grace period. If the kubelet or
// the runtime restarts, the stop request is canceled, and the runtime sends no SIGKILL (containerd: container_stop.go,
// stopContainer). After the restart, the kubelet sends another request with the full grace period.
func (f *terminationFold) stoppedLate(s *stopEvidence, end bound) bool {
	if again := s.killingLast; s.killingAt != 0 && again-s.killingAt > restartTakes && again <= end.latest {
		return true
	}
	begun := f.requested.estimate()
	if f.begunKnown {
		begun = f.begun.estimate()
	}
	return !f.graceUnknown() && end.estimate()-f.stopsBy(s.name, begun) > restartTakes
}

// graceUnknown reports whether the original grace period is unknown. When the kubelet finally deletes the object, it
// sets the grace period to 0. If the agent first sees the object after this change, the original grace period is no
// longer visible.
func (f *terminationFold) graceUnknown() bool { return f.e.grace == 0 && !f.e.learnedLive }
