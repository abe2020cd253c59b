package timeline

import "time"

// timeBeyondRefusals examines a phase in which the kubelet could not create a container or check its image. The result
// is the duration of the phase, minus the kubelet's minimum waits between its attempts. If no milestone of a container
// has ended the phase, the result is only the time after refusalDue.
func (f *fold) timeBeyondRefusals(s Span, begin, end milestoneKey) time.Duration {
	from, next := f.bounds.find(begin), f.bounds.find(end)
	switch {
	case from == nil:
		return 0
	case next == nil || end.container == podWide:
		return max(0, at(s.EndAt).sub(f.refusalDue(from)))
	case !isRefusal(begin.milestone): // the kubelet worked on another container in the meantime
		return max(0, next.latest.sub(from.latest)-f.retryLeast(end.container))
	}
	last, beyond := f.lastRefusal(from, next.latest)
	return beyond + max(0, next.latest.sub(last)-f.retryLeast(begin.container))
}

// retryLeast returns the kubelet's minimum wait between two attempts to create a container. If another container has
// exited, no wait is certain. The kubelet syncs the pod at each exit, and since Kubernetes 1.35 also at the end of each
// crash back-off (pod_workers.go, completeWork).
func (f *fold) retryLeast(index int16) time.Duration {
	for i := range f.e.pod.Containers {
		if c := &f.e.pod.Containers[i]; f.index(c.Name) != index && c.mayCrashLoop() {
			return 0
		}
	}
	return podRetryLeast
}

// refusalWaits returns the sum of the kubelet's minimum waits between the first and the latest refusal of a container.
// Some attempts follow without a wait, because the kubelet syncs the pod at once after the start of the sandbox, and
// after the starts and probes of other containers (syncLoopIteration in pkg/kubelet).
func (f *fold) refusalWaits(from *bound, refused refusals) time.Duration {
	waits := refused.count - 2 // one attempt can follow the start of the sandbox
	for _, b := range f.bounds {
		switch b.key.milestone {
		case MilestoneRunning, MilestoneStarted, MilestoneContainerReady:
			if b.key.container != from.key.container && b.latest >= from.earliest-instant(statusPatience) &&
				b.earliest <= refused.last.latest {
				waits--
			}
		}
	}
	return time.Duration(max(0, waits)) * f.retryLeast(from.key.container)
}

// otherRefusalDelay returns how long errors other than configuration errors might have delayed the container.
func (f *fold) otherRefusalDelay(begin milestoneKey) time.Duration {
	other, from := f.e.containers[begin.container].otherRefusalAt, f.bounds.find(begin)
	if other == 0 || from == nil || begin.milestone != MilestoneConfigRefused {
		return 0
	}
	return max(0, other.sub(from.earliest)) + podRetry + retrySlack
}

// refusalDue returns the time by which an Event should have reported the kubelet's next attempt to create a container
// or to check its image. After a pod has reached the limit of Events, the kubelet's client sends only one Event about
// the whole pod every five minutes. refusalDue adds these five minutes only if the evidence proves that the pod has
// reached the limit. Without this proof, the five minutes could hide that the kubelet was stopped. refusalDue returns
// maxInstant if no Event watch shows the kubelet's attempts.
func (f *fold) refusalDue(from *bound) instant {
	if f.e.mayHaveMissedEvents(f.asOf) {
		return maxInstant
	}
	last, _ := f.lastRefusal(from, f.asOf)
	last = max(last, at(f.e.watchFirstOpened), f.e.watchSince)
	due := podRetry + retrySlack
	if f.e.eventLimitProven() {
		last = max(last, f.e.lastEventAt)
		due += spamInterval
	}
	return last + instant(due)
}

// lastRefusal returns the time of the latest reported refusal up to the instant "by". A refusal is a failed attempt to
// create the container or to check its image. The result "beyond" is the time from the first refusal to "last", minus
// the kubelet's minimum waits between its attempts.
func (f *fold) lastRefusal(from *bound, by instant) (last instant, beyond time.Duration) {
	c := &f.e.containers[from.key.container]
	refused := c.refused
	if from.key.milestone == MilestoneNameRefused || from.key.milestone == MilestoneInspectFailed {
		refused = c.failedChecks
	}
	if refused.count < 2 || refused.last.latest <= from.latest || refused.last.latest > by {
		return from.latest, 0
	}
	last, beyond = refused.last.latest, refused.last.latest.sub(from.earliest)
	// If the Event is older than the phase, the Event's count includes earlier failures. In this case, the number of
	// waits in the phase is unknown.
	if refused.first.latest >= from.earliest-instant(firstCheck) {
		beyond = max(0, beyond-f.refusalWaits(from, refused))
	}
	return last, beyond
}
