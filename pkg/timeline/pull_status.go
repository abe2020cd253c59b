package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// maxPullStatuses limits the list containerEvidence.pullStatuses. A pull that fails for an hour changes the status
// about 40 times.
const maxPullStatuses = 64

// imageBackOff is the waiting reason of a container whose pull failed, while the kubelet waits before the next attempt.
// The reasons for a failed attempt are different, for example ErrImagePull.
const imageBackOff = "ImagePullBackOff"

// nextSyncLeast is less than the time from a failed pull until the kubelet looks at the pod again and reports the
// failure in the status: usually 10 to 15 s (pod_workers.go, completeWork).
const nextSyncLeast = 5 * time.Second

// pullStatus is a live status that reports a failed pull. A list can show a status that is one attempt old.
type pullStatus struct {
	at      instant // arrival of the status
	backOff bool    // true if the kubelet waits before the next attempt
	why     imagepull.Failure
}

//nolint:unused // keepEarliest calls this method
func (s pullStatus) compare(o pullStatus) int {
	return cmp.Or(cmp.Compare(s.at, o.at), compareBools(s.backOff, o.backOff), cmp.Compare(s.why, o.why))
}

// statusFailures returns the failed pulls that the statuses report, except the first. The kubelet's client can have
// dropped the Events about these pulls, because it limits the Events of each pod.
//
// When the kubelet looks at a pod, it first reports the result of its previous look, and then it possibly begins the
// next attempt (kubelet.go, SyncPod). So an attempt failed between a status that reports a back-off and the next status
// that reports a failure. The later status cannot be a delayed report of an earlier failure, because the kubelet sends
// the statuses of a pod in order and skips superseded statuses (status_manager.go).
func (c *containerEvidence) statusFailures() []failureEvent {
	var failures []failureEvent
	backOffAt := instant(0)
	for _, s := range c.pullStatuses {
		switch {
		case s.backOff && backOffAt == 0:
			backOffAt = s.at
		case !s.backOff && backOffAt != 0:
			w := window{originArrival, leanNone, backOffAt - instant(statusPatience), s.at}
			failures = append(failures, failureEvent{w, 0, s.why})
			backOffAt = 0
		}
	}
	return failures
}

// pullFailures returns the failed pulls of a container in order of time: the failures that Events report, and the
// failures that only statuses report.
func (e *Evidence) pullFailures(index int16, reported []failureEvent) []failureEvent {
	all := slices.Clone(reported)
	for _, f := range e.containers[index].statusFailures() {
		if !slices.ContainsFunc(reported, func(event failureEvent) bool {
			return event.latest >= f.earliest && event.earliest <= f.latest
		}) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, failureEvent.compare)
	return all
}

// The method "follows" reports whether an attempt certainly failed after a request for the image.
func (f failureEvent) follows(request constraint) bool {
	if f.origin == originArrival {
		return request.latest+instant(nextSyncLeast) < f.latest
	}
	return request.latest < f.earliest
}

// mayHaveFailedUnnoticed reports whether the pull that seems to be in progress can have failed. The kubelet's client
// can have dropped the Event about the failure, and the kubelet has not reported the failure in the status yet.
func (f *fold) mayHaveFailedUnnoticed(container string, next Milestone) bool {
	switch next {
	case MilestonePullStarted, MilestonePullResolved, MilestonePullDownloaded, MilestonePullFinished:
	default:
		return false
	}
	return f.e.eventLimitReached() && slices.ContainsFunc(f.containers, func(c *Container) bool {
		return c.Name == container && c.PullFailure != imagepull.FailureNone
	})
}

// mayPullUnnoticed reports whether the kubelet can have begun its first pull although the agent received no Event about
// the pull. For example, an agent that has just started first lists the pods, and later receives the Events.
func (f *fold) mayPullUnnoticed(container string, next milestoneKey) bool {
	return next.milestone == MilestonePullRequested && next.attempt == 0 && f.e.mayHaveMissedEvents(f.asOf) &&
		slices.ContainsFunc(f.containers, func(c *Container) bool {
			return c.Name == container && c.PullPolicy != PullNever && f.e.mayBePulled(*c)
		})
}

// mayHidePulls reports whether a back-off of the given length can contain failed pulls about which the agent received
// no Event and no status.
func (f *fold) mayHidePulls(backOff time.Duration, failures int) bool {
	return !f.knowsAllEvents() && backOff > maxBackoff(PhaseImageBackoff, failures)
}

// knowsAllEvents reports whether the agent received all Events that the kubelet created for the pod.
func (f *fold) knowsAllEvents() bool {
	return f.e.firstSeen.live && f.e.eventsMissedUntil() == 0 && !f.e.mayHaveMissedEvents(f.asOf) &&
		!f.e.eventLimitReached()
}

// backsOffAfter reports whether a status after the given instant shows that the kubelet waits for the end of a
// back-off.
func (c *containerEvidence) backsOffAfter(after instant) bool {
	return slices.ContainsFunc(c.pullStatuses, func(s pullStatus) bool { return s.backOff && s.at > after })
}
