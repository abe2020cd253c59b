package timeline

import "time"

// restartTakes is the shortest time between two requests to stop a container: the kubelet's first request, and the
// request that the kubelet sends after a restart. After its start, the kubelet waits for at least 1 s before it lists
// its pods (kubelet: config/apiserver.go, WaitForAPIServerSyncPeriod). A killed process usually ends within 0.1 s. So
// if a container stops at most 1 s after the end of its grace period, the reason is a slow kill, and not a restart of
// the kubelet.
const restartTakes = instant(time.Second)

// stopsBy returns the time by which the kubelet kills a container after a single stop request at the time "begun". If a
// client shortens the grace period, stopsBy uses the latest possible end of the grace period. Sidecars and all
// containers with a pre-stop hook get leastGrace in addition to their grace period.
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

// stoppedLate reports whether a container's end needs an explanation other than the kubelet's first stop request. If
// the stop request succeeds, the runtime kills the container at the end of the grace period. If the kubelet or the
// runtime restarts, the stop request is canceled, and the runtime sends no SIGKILL (containerd: container_stop.go,
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

// graceUnknown reports whether the agent first saw the object after the kubelet's final deletion. The kubelet's final
// deletion sets the grace period to 0, so the original grace period is no longer visible.
func (f *terminationFold) graceUnknown() bool { return f.e.grace == 0 && !f.e.learnedLive }
