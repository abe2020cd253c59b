package timeline

import (
	"fmt"
	"time"
)

// Anyone who can create Events in a namespace can forge a kubelet Event. So if an Event contradicts the runtime's facts
// or the pod's spec, the timeline only lists the Event as a conflict.

// futureSlack is the maximum time by which an Event's timestamp can be later than the Event's arrival. If the
// difference is larger, the agent ignores the Event. The kubelet and the agent use the same clock, and the truncation
// to seconds never makes a timestamp later. But somebody can set the clock back between the Event's timestamp and its
// arrival.
const futureSlack = time.Second

// maxPulledEvents is the maximum number of Pulled Events that the evidence keeps for each container. If a container has
// more Pulled Events, the evidence keeps the earliest. The kubelet creates one Pulled Event for each run of a
// container, so only crash loops and forged Events exceed the limit.
const maxPulledEvents = 16

// ofFuture reports whether any timestamp of an Event is later than the Event's arrival by more than futureSlack.
func (o *EventSeen) ofFuture() bool {
	limit := o.ArrivedAt.Add(futureSlack)
	return !o.ArrivedAt.IsZero() && (o.NamedAt.After(limit) || o.FirstAt.After(limit) || o.LastAt.After(limit))
}

// keepPulled adds a Pulled Event to a container's evidence. If the evidence then has more than maxPulledEvents Pulled
// Events, keepPulled removes the latest one.
func (e *Evidence) keepPulled(c *containerEvidence, p pulledEvent) {
	switch {
	case !c.pulled.known():
		c.pulled, e.changed = p, true
	case p.compare(c.pulled) == 0:
	case p.compare(c.pulled) < 0:
		earliest := c.pulled
		c.pulled, e.changed = p, true
		keepEarliest(e, &c.laterPulled, earliest, maxPulledEvents-1)
	default:
		keepEarliest(e, &c.laterPulled, p, maxPulledEvents-1)
	}
}

// firstCredible returns a container's first Pulled Event that the refuter does not refute. The result "refuted"
// contains all earlier Pulled Events, because the refuter refutes each of them. If several Events concern the same pull
// but report different durations, firstCredible ignores all these durations.
func (r refuter) firstCredible(c *containerEvidence) (p pulledEvent, refuted []refutedEvent) {
	if !c.pulled.known() {
		return pulledEvent{}, nil
	}
	if reason := r.reasonToRefute(c.pulled); reason != "" {
		refuted = append(refuted, refutedEvent{c.pulled, reason})
	} else {
		p = c.pulled
	}
	for _, o := range c.laterPulled {
		switch reason := r.reasonToRefute(o); {
		case !p.known() && reason != "":
			refuted = append(refuted, refutedEvent{o, reason})
		case !p.known():
			p = o
		case reason == "" && o.beganAt() <= p.latest && !p.present && !o.present && p.lengths != o.lengths:
			p.latest, p.bias, p.lengths = max(p.latest, o.latest), biasNone, pullLengths{}
		}
	}
	return p, refuted
}

// refutedEvent is a refuted Event and the reason for the refutation.
type refutedEvent struct {
	pulledEvent
	why string
}

// refuter holds the facts that can refute Events about the image of one container.
type refuter struct {
	absentUntil instant         // the time until which the image was absent, according to the runtime
	workStart   instant         // the earliest possible start of the kubelet's work on the container
	image       uint64          // textHash of the container's image; 0 if unknown
	images      []observedImage // the container's images; several if the image changed
}

func (e *Evidence) refuter(index int16) refuter {
	c := e.specOf(index)
	if c == nil {
		return refuter{absentUntil: minInstant, workStart: minInstant}
	}
	return refuter{absentUntil: e.absentUntil(index), workStart: e.firstWorkStart(c), image: textHash(c.Image),
		images: e.containers[index].images}
}

// firstWorkStart returns the earliest possible time at which the kubelet began to work on a container:
//   - For an image volume, this is the time at which the kubelet picked up the pod (status.startTime). The kubelet
//     always pulls the image later.
//   - The kubelet begins to work on an ephemeral container only after the first sandbox runs, but starts ephemeral
//     containers before all other containers.
//   - The kubelet begins to work on any other container only after the first sandbox runs, the earlier init containers
//     have ended, and the earlier sidecars have started. The kubelet does not wait for earlier main containers: it
//     continues with the next container even if a main container cannot start.
func (e *Evidence) firstWorkStart(c *Container) instant {
	start := minInstant
	if e.pod.ReadAt.IsZero() && !e.pod.AcknowledgedAt.IsZero() {
		start = at(e.pod.AcknowledgedAt)
	}
	if c.Kind == KindImageVolume {
		return start
	}
	start = max(start, e.runtimeEarliest(podMilestone(MilestoneSandboxRunning)))
	for i := range e.pod.Containers {
		before := &e.pod.Containers[i]
		if before.Name == c.Name || c.Kind == KindEphemeral {
			break
		}
		if before.Kind != KindInit && before.Kind != KindSidecar {
			continue
		}
		if index := e.indexNear(i, before.Name); index != podWide {
			start = max(start, e.completedAt(before, index))
		}
	}
	return start
}

// completedAt returns the earliest possible time at which an init container succeeded or a sidecar started. Before
// that, the kubelet does not work on the next container. completedAt uses only the runtime's timestamps.
func (e *Evidence) completedAt(c *Container, index int16) instant {
	done := e.runtimeEarliest(milestoneKey{index, 0, MilestoneRunning})
	if c.Kind == KindSidecar {
		return done
	}
	for attempt := range uint16(maxAttempts) {
		done = max(done, e.runtimeEarliest(milestoneKey{index, attempt, MilestoneFinished}))
		code, known := e.containers[index].exitCode(int(attempt))
		// After the pod has lost its sandbox, the kubelet can report a failure of an init container that in fact
		// succeeded. So if the pod had a second sandbox, completedAt ignores the exit code.
		if !known || code == 0 || e.runtimeEarliest(milestoneKey{podWide, 1, MilestoneSandboxRunning}) != minInstant {
			break
		}
	}
	return done
}

// If an Event is older than the kubelet's first work on the container, tooEarly returns a reason to refute the Event.
// Otherwise, tooEarly returns an empty string.
func (r refuter) tooEarly(latest instant) string {
	if latest >= r.workStart {
		return ""
	}
	return "the kubelet did not start work on the container before " + r.workStart.time().Format(time.RFC3339Nano)
}

// reasonToRefute returns the reason why an Event is refuted, or an empty string if the Event is not refuted.
func (r refuter) reasonToRefute(p pulledEvent) string {
	longest := p.latest - instant(max(p.lengths.Pull, p.lengths.Waiting))
	switch {
	case p.image != r.image && imageWithHash(r.images, p.image) != "":
		// The Event names an image from an earlier spec of the container. The runtime's facts are not about that image.
	case p.latest < r.absentUntil:
		return "the runtime reports that the image was absent until " + r.absentUntil.time().Format(time.RFC3339Nano)
	case r.image != 0 && p.image != 0 && p.image != r.image:
		return "the container has a different image"
	}
	return r.tooEarly(longest)
}

// absentUntil returns the time until which a container's image was absent, according to the runtime's responses:
//   - If the latest response reports that the image is absent, the result is the time at which the agent requested this
//     response.
//   - If the latest response reports the time of the image's first pull (FirstPulledAt), the result is this time.
//   - If the latest response contains the image without this time, the result is the time at which the agent first
//     requested the image's state.
//
// absentUntil returns minInstant if the responses show no absence, or if the kubelet used the image before the absence
// ended.
func (e *Evidence) absentUntil(index int16) instant {
	c := e.specOf(index)
	if c == nil {
		return minInstant
	}
	image := e.image(c.Image)
	if image == nil || !image.wasAbsent() {
		return minInstant
	}
	absent := minInstant
	if !image.Present {
		absent = at(image.queriedAt)
	}
	switch {
	case !image.last.Present:
		absent = max(absent, at(image.last.queriedAt))
	case !image.last.FirstPulledAt.IsZero():
		absent = max(absent, at(image.last.FirstPulledAt))
	}
	if e.usedBy(index) <= absent {
		return minInstant
	}
	return absent
}

// refutesFailure returns the reason why an Event about a failed pull is refuted. refutesFailure returns an empty string
// if the Event is not refuted.
func (e *Evidence) refutesFailure(index int16, r refuter, pulled pulledEvent, failed failureEvent) string {
	if reason := r.tooEarly(failed.latest); reason != "" {
		return reason
	}
	began := pulled.latest - instant(pulled.lengths.Waiting)
	if pulled.lengths.WaitingTimed && began < failed.earliest && failed.latest < pulled.earliest &&
		e.runtimeConfirms(index, pulled) {
		return "a successful pull of the image was in progress at that time"
	}
	return ""
}

// runtimeConfirms reports whether one of the runtime's timestamps of the image confirms the end of the pull that a
// Pulled Event reports.
func (e *Evidence) runtimeConfirms(index int16, pulled pulledEvent) bool {
	c := e.specOf(index)
	if c == nil {
		return false
	}
	image := e.image(c.Image)
	if image == nil || !image.last.Present || pulled.image != textHash(c.Image) {
		return false
	}
	confirms := func(stamp time.Time) bool {
		return !stamp.IsZero() && at(stamp) <= pulled.latest && at(stamp) >= pulled.earliest-responseSlack
	}
	return confirms(image.last.FirstPulledAt) || confirms(image.last.PulledAt)
}

// refutedImageEvents returns the conflicts for the refuted Events about a container's image.
func (f *fold) refutedImageEvents(index int16) []milestoneConflict {
	evidence := f.e.pullEventsOf(index)
	r := f.pulls[index].refuter
	pulled, refuted := r.firstCredible(evidence)
	var all []milestoneConflict
	add := func(milestone Milestone, w window, reason string) {
		all = append(all, milestoneConflict{milestoneKey{index, 0, milestone},
			fmt.Sprintf("%s reports %s: %s", w.origin, interval(w.earliest, w.latest), reason)})
	}
	for _, failed := range evidence.failures {
		if reason := f.e.refutesFailure(index, r, pulled, failed); reason != "" {
			add(MilestonePullFailed, failed.window, reason)
		}
	}
	early := func(milestone Milestone, windows ...window) {
		for _, w := range windows {
			if reason := r.tooEarly(w.latest); reason != "" {
				add(milestone, w, reason)
			}
		}
	}
	for _, request := range f.e.containers[index].requested {
		early(MilestonePullRequested, request.window)
	}
	early(MilestoneNameRefused, f.e.containers[index].misnamed...)
	early(MilestoneInspectFailed, f.e.containers[index].inspected...)
	for _, p := range refuted {
		add(MilestonePullFinished, p.window, p.why)
	}
	return all
}

// mayBeOfRestart reports whether a Pulled Event can concern the container's second run instead of its first run. The
// result is true only if the Event reports that the image was already present, and the container ran again. If evidence
// shows when the first run was created, the Event must also be later than the earliest possible time of this creation.
// If the Event concerns the second run, the agent missed the Event about the first run. The agent did not miss it if
// the Event was repeated for each run. This is often the case if the agent started during a crash loop.
func (e *Evidence) mayBeOfRestart(index int16, p pulledEvent) bool {
	since := e.createdSince(index)
	if !p.present || since != maxInstant && p.latest <= since {
		return false
	}
	lastRun, failed := uint16(0), false
	for _, c := range e.constraints {
		if c.key.container != index {
			continue
		}
		switch c.key.milestone {
		case MilestoneContainerCreated, MilestoneRunning:
			lastRun = max(lastRun, c.key.attempt)
		case MilestoneCreateFailed, MilestoneConfigRefused:
			failed = true // the kubelet checks the image again for each attempt to create the container
		}
	}
	repeats := since == maxInstant && !failed && e.containers[index].presentCount > lastRun
	return lastRun > 0 && !repeats
}
