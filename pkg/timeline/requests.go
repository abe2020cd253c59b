package timeline

import (
	"slices"
	"time"
)

// How long to wait for evidence that should be on its way.
const (
	// How long the agent waits for late evidence after the end of the start-up: for an answer of the runtime, and for
	// the Events, which the kubelet sends in parallel with its status and again after 10 s if the API server was away
	// (client-go, tools/record).
	runtimeGrace = 3 * time.Second
	eventGrace   = 15 * time.Second
	// layersGrace is how long the agent asks the stores again if they did not report the layers of a new image in time.
	layersGrace = 15 * time.Second
	// reaskAfter is the interval after which the runtime is asked again if its answer lacked facts that the pod object
	// reports.
	reaskAfter = time.Second
	// statusPatience is how long the kubelet may take from a container's start to the status that reports it: it
	// lists the running containers once a second (pleg/generic.go), and limits how often it writes.
	statusPatience = 2 * time.Second
	// presentPatience is how long the kubelet may take to create a container whose image is present.
	presentPatience = 2 * time.Second
	// giveUpAfter is how long a start-up is followed after the agent first saw the pod. A longer start-up is not slow
	// but stuck: a person must look at it, so it is recorded as it is.
	giveUpAfter = time.Hour
	// sandboxPatience is how long the kubelet may take from picking up a pod to creating a sandbox. After that, it is
	// worth opening an Event watch to learn the reason. After a failure the kubelet waits longer than this before the
	// next attempt (pod_workers.go, backOffPeriod), so an earlier sandbox was the first one.
	sandboxPatience = 2 * time.Second
	// runtimePatience is how long the runtime may take to say whether an image is on the node. An answer takes less
	// than a second. A runtime that does not answer must not delay the request for the kubelet's Events.
	runtimePatience = 5 * time.Second
)

// Requests returns what could be requested now to complete the timeline.
func (e *Evidence) Requests(now time.Time) Requests {
	if !e.PodSeen() || e.gone {
		return Requests{}
	}
	late := func(grace time.Duration) bool { return e.graceOver(now, grace) }
	var w Requests
	switch {
	case !e.scope.Runtime || late(runtimeGrace) && !e.awaitsLayers(now):
	case e.beforeAgent():
		w.Runtime = e.runtimeAskedAt.IsZero()
	default:
		w.Images, w.Layers = e.requestedImages(now)
		w.Runtime = len(w.Images) > 0 || e.podSeenAt.After(e.runtimeAskedAt) && !e.runtimeComplete() ||
			e.runtimeBehind() && now.Sub(e.runtimeAskedAt) > reaskAfter
	}
	if w.Network = e.scope.Runtime && e.waitsForNetwork(); w.Network && now.Sub(e.runtimeAskedAt) > reaskAfter {
		w.Runtime = true
	}
	overdue := now.Sub(e.askedSince()) > runtimePatience || late(runtimeGrace)
	w.Events = e.scope.Events && !e.beforeAgent() && !late(eventGrace) &&
		(e.requestsEvents(overdue) || e.requestsSandboxEvents(now))
	return w
}

// requestedImages returns the references whose presence decides whether the kubelet pulls: each is requested once, and
// once more after a pull. It also returns those of them whose layers are wanted.
func (e *Evidence) requestedImages(now time.Time) (refs, layers []string) {
	for _, c := range e.pod.Containers {
		image := e.image(c.Image)
		switch {
		case c.Kind == KindEphemeral || c.PullPolicy == PullNever || slices.Contains(refs, c.Image):
		case image == nil:
			refs = append(refs, c.Image)
		case e.pulledSince(c, image):
			refs = append(refs, c.Image)
			if image.mayHaveNewLayers() {
				layers = append(layers, c.Image)
			}
		case image.last.Present && image.mayHaveNewLayers(),
			image.layersIncomplete() && now.Sub(image.last.askedAt) > reaskAfter:
			refs, layers = append(refs, c.Image), append(layers, c.Image)
		}
	}
	return refs, layers
}

// mayHaveNewLayers reports whether a pull may have brought layers that were not asked for yet. A runtime that does not
// date its pulls does not report layers either.
func (i *imageEvidence) mayHaveNewLayers() bool {
	return i.layered == nil && (i.wasAbsent() || i.last.Digest != i.Digest) &&
		(!i.last.Present || !i.last.PulledAt.IsZero())
}

// layersIncomplete reports whether the runtime could not give all layers of an image in time, and another answer
// may: the disk is busy for some time after a pull. The runtime is asked for that long at most.
func (i *imageEvidence) layersIncomplete() bool {
	return i.layered != nil && i.layered.Incomplete && i.last.askedAt.Sub(i.last.PulledAt) < layersGrace
}

// awaitsLayers reports whether the runtime will be asked again for layers that it did not give in time.
func (e *Evidence) awaitsLayers(now time.Time) bool {
	return e.scope.Runtime && !e.beforeAgent() && !e.graceOver(now, layersGrace) &&
		slices.ContainsFunc(e.images, func(i imageEvidence) bool { return i.layersIncomplete() })
}

// pulledSince reports whether the image was pulled after the last answer about it.
func (e *Evidence) pulledSince(c Container, image *imageEvidence) bool {
	index, evidence := e.container(c.Name)
	if evidence == nil {
		return false
	}
	if p, _ := e.refuter(index).firstCredible(evidence); p.known() {
		return !p.present && !image.last.askedAt.After(p.latest.time())
	}
	used := e.usedBy(index)
	if !image.last.Present {
		return used != maxInstant
	}
	// The image's timestamp shows a further pull, if the runtime has one.
	return !image.PulledAt.IsZero() && used != maxInstant && at(image.last.askedAt) <= used &&
		(c.PullPolicy == PullAlways || e.mayBeRemoved(&c, index))
}

// mayBeRemoved reports whether a container was created so long after the kubelet started working on it that its
// image may have been removed and pulled again, for example after the kubelet's garbage collection. If the image is
// present, the kubelet creates the container at once.
func (e *Evidence) mayBeRemoved(c *Container, index int16) bool {
	made := e.createdSince(index)
	return c.PullPolicy == PullIfNotPresent && made != maxInstant && !e.createFailed(index) &&
		made-max(e.workStart(c), at(e.firstSeen.at)) > instant(presentPatience)
}

// runtimeComplete reports whether the runtime has reported everything that it can about the start-up.
func (e *Evidence) runtimeComplete() bool {
	_, over := e.endLearned()
	return over && !e.runtimeBehind()
}

// runtimeBehind reports whether the pod object has runs that the runtime has not shown.
func (e *Evidence) runtimeBehind() bool {
	for _, c := range e.pod.Containers {
		if c.Kind == KindEphemeral || c.Attempt >= maxAttempts ||
			c.State != StateRunning && c.State != StateTerminated {
			continue
		}
		index, evidence := e.container(c.Name)
		if evidence == nil {
			continue
		}
		if !e.hasRuntimeConstraint(milestoneKey{index, clampAttempt(c.Attempt), MilestoneRunning}) ||
			c.State == StateTerminated &&
				!e.hasRuntimeConstraint(milestoneKey{index, clampAttempt(c.Attempt), MilestoneFinished}) {
			return true
		}
	}
	return false
}

// askedSince is the time from which the runtime is asked about the pod.
func (e *Evidence) askedSince() time.Time {
	if e.scope.ResumedAt.After(e.firstSeen.at) {
		return e.scope.ResumedAt
	}
	return e.firstSeen.at
}

// requestsEvents reports whether a container waits for a pull, or its image was pulled, and the kubelet's Event about
// it has not arrived. A pod whose images are all on the node needs no Events. Once the runtime's answer is overdue, any
// image that it has not answered for may need a pull.
//
// After a post-start hook Events are needed: only an Event about the next image says when the hook ended.
func (e *Evidence) requestsEvents(overdue bool) bool {
	afterHook := false
	for _, c := range e.pod.Containers {
		hookBefore := afterHook
		afterHook = c.PostStartHook
		if c.Kind == KindEphemeral || c.PullPolicy == PullNever {
			continue
		}
		index, evidence := e.container(c.Name)
		if evidence == nil {
			continue
		}
		if p, _ := e.refuter(index).firstCredible(evidence); p.known() {
			continue
		}
		awaited := e.scope.Runtime && e.image(c.Image) == nil && !overdue // the answer will decide
		if hookBefore || c.PullPolicy == PullAlways || !awaited && e.mayBePulled(c) {
			return true
		}
	}
	return false
}

// requestsSandboxEvents reports whether the sandbox takes, or took, so long that an attempt may have failed.
func (e *Evidence) requestsSandboxEvents(now time.Time) bool {
	acknowledged, _ := e.latest(podMilestone(MilestoneAcknowledged))
	if acknowledged == 0 {
		return false
	}
	begun, known := e.latest(podMilestone(MilestoneSandboxBegun))
	if !known {
		return !e.sandboxRan() && at(now)-acknowledged > instant(sandboxPatience)
	}
	return e.watchFirstOpened.IsZero() && begun-acknowledged > instant(sandboxPatience)
}

// waitsForNetwork reports whether the kubelet does not create the sandbox because the network is not ready. The
// kubelet drops its Events about that after half a minute, so only the runtime says how long it lasts.
func (e *Evidence) waitsForNetwork() bool {
	_, over := e.endLearned()
	return !over && !e.sandboxRan() &&
		slices.ContainsFunc(e.obstacleEvents,
			func(h obstacleEvent) bool { return h.obstacle == obstacleNetworkNotReady })
}

// mayBePulled reports whether this container's image may have been pulled.
func (e *Evidence) mayBePulled(c Container) bool {
	image := e.image(c.Image)
	switch {
	case image == nil, image.wasAbsent():
		return true
	}
	return !image.beforeSandbox && !e.pulledBefore(image)
}

// LookUp is one question to the runtime.
type LookUp struct {
	UID        string // the pod object's UID, repeated in the answer
	RuntimeUID string // the pod's UID in the runtime
	Images     []string
	Layers     []string // those of Images whose layers are wanted, too
	Network    bool     // also whether the runtime's network is ready
}

// EventWatch names the pod whose kubelet Events are wanted.
type EventWatch struct {
	UID         string // the pod object's UID, repeated in observations
	InvolvedUID string // involvedObject.uid: for static pods the kubelet's UID
	Namespace   string
	Name        string
}

// Requests is the evidence that one pod's timeline lacks and that a source could provide now.
type Requests struct {
	Runtime bool     // ask the runtime about the pod
	Images  []string // when asking: also whether these references, as written in the spec, are present
	Layers  []string // when asking: those of Images whose layers are wanted, too
	Network bool     // when asking: also whether the runtime's network is ready
	Events  bool     // keep an Event watch open for the pod
}
