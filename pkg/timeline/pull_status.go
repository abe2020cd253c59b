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

// imageBackOff is the reason in a container's status while the kubelet waits between a failed pull and the next
// attempt. Directly after a failed attempt, the status contains another reason, for example ErrImagePull.
const imageBackOff = "ImagePullBackOff"

// nextSyncLeast is a safe lower limit of the time from a failed pull to the status that reports the failure. The
// kubelet writes the status at its next sync of the pod, usually after 10 to 15 s (pod_workers.go, completeWork).
const nextSyncLeast = 5 * time.Second

// usualSync is the average time from a failed pull to the status that reports the failure.
const usualSync = 12500 * time.Millisecond

// pullStatus is a container's status that came from the pod watch and reports a failed pull. A status from a list is
// not a pullStatus, because a list can still report the previous attempt.
type pullStatus struct {
	at      instant // arrival of the status
	backOff bool    // true if the kubelet waits before the next attempt
	why     imagepull.Failure
}

//nolint:unused // keepEarliest calls this method
func (s pullStatus) compare(o pullStatus) int {
	return cmp.Or(cmp.Compare(s.at, o.at), compareBools(s.backOff, o.backOff), cmp.Compare(s.why, o.why))
}

// failedEarlier reports whether an earlier container with the same image waits after a failed pull. The kubelet keeps
// one back-off for each image of a pod (image_manager.go). So during the back-off of the earlier container, the later
// container waits too, without a pull of its own.
func (p *Pod) failedEarlier(c Container) bool {
	for i := range p.Containers {
		switch earlier := &p.Containers[i]; {
		case earlier.Name == c.Name:
			return false
		case earlier.Image == c.Image && earlier.PullFailure != imagepull.FailureNone:
			return true
		}
	}
	return false
}

// statusFailures returns the failed pulls that the statuses report, except the first failed pull. The kubelet's client
// might have dropped the Events about failed pulls, because the client limits the Events about each pod.
//
// When the kubelet syncs a pod, it first reports the result of the previous sync, and then might begin the next attempt
// (kubelet.go, SyncPod). So if a status reports a back-off and a later status reports a failure, an attempt failed
// between the two statuses. The later status cannot be a delayed report of an earlier failure. The kubelet sends the
// statuses of a pod in order and skips outdated statuses (status_manager.go).
func (c *containerEvidence) statusFailures() []failureEvent {
	var failures []failureEvent
	backOffAt := instant(0)
	for _, s := range c.pullStatuses {
		switch {
		case s.backOff && backOffAt == 0:
			backOffAt = s.at
		case !s.backOff && backOffAt != 0:
			w := window{originArrival, biasNextSync, backOffAt - instant(statusPatience), s.at}
			failures = append(failures, failureEvent{w, 0, s.why, 0})
			backOffAt = 0
		}
	}
	return failures
}

// statusFailureBefore returns a container's first failed pull according to the container's statuses. The argument "end"
// is the end of the container's pulls. If the pull might have failed after the time "end", statusFailureBefore returns
// nil. If the kubelet wrote the status before the container's first run, the pull failed before the container was
// created. Then the status counts even if it arrived after the time "end". But if Events report a pull, the failure
// might have come after that pull, because the kubelet can pull the image again.
func (e *Evidence) statusFailureBefore(index int16, end instant) *failureEvent {
	c := &e.containers[index]
	first, _ := e.statusFailuresOf(index)
	if first == nil || first.latest <= end {
		return first
	}
	events := e.pullEventsOf(index)
	if !c.failedBeforeRun || e.createFailed(index) || len(c.refusedAt) > 0 || len(c.requested) > 0 ||
		events.pulled.known() || len(events.failures) > 0 {
		return nil
	}
	clamped := *first
	clamped.bias, clamped.latest = biasNextSync, end
	return &clamped
}

// isBefore reports whether the failure in a status certainly came before another failure. If an Event reports the other
// failure, isBefore takes into account that the kubelet creates this Event a little later.
func (f failureEvent) isBefore(other failureEvent) bool {
	if other.origin != originArrival {
		return f.latest+instant(statusPatience) < other.earliest
	}
	return f.latest < other.earliest
}

// isAfterRequest reports whether the failure certainly came after a request for the image. After a failure, the kubelet
// requests the image again only after its back-off. So if a request seems to come less than one back-off after the
// failure, the request actually came before the failure. But if both times come from the names of Events,
// isAfterRequest ignores the back-off, because a restarted kubelet has no back-off.
func (f failureEvent) isAfterRequest(request constraint) bool {
	switch {
	case f.origin == originArrival:
		return request.latest+instant(nextSyncLeast) < f.latest
	case f.origin == originEventName && request.origin == originEventName:
		return request.earliest < f.latest
	}
	return request.latest < f.earliest+instant(imagepull.Backoff(1))
}

// mayHaveFailedUnnoticed reports whether the pull that seems to be in progress might have failed. The kubelet's client
// might have dropped the Event about the latest failure, and the status might still report an earlier failure.
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

// mayPullUnnoticed reports whether the kubelet might have begun its first pull although the agent received no Event
// about the pull. For example, a restarted agent receives its first list of pods before it receives Events.
func (f *fold) mayPullUnnoticed(container string, next milestoneKey) bool {
	return next.milestone == MilestonePullRequested && next.attempt == 0 && f.e.mayHaveMissedEvents(f.asOf) &&
		slices.ContainsFunc(f.containers, func(c *Container) bool {
			return c.Name == container && c.PullPolicy != PullNever && f.e.mayBePulled(*c)
		})
}

// backsOffAfter reports whether a status after the given instant shows that the kubelet waits for the end of a
// back-off.
func (c *containerEvidence) backsOffAfter(after instant) bool {
	return slices.ContainsFunc(c.pullStatuses, func(s pullStatus) bool { return s.backOff && s.at > after })
}
