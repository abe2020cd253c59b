package timeline

import (
	"slices"
	"time"
)

// These constants limit the waits for evidence that should arrive soon.
const (
	// runtimeGrace and eventGrace limit the wait for late evidence after the end of the start-up. runtimeGrace limits
	// the wait for the runtime's response. eventGrace limits the wait for Events. The kubelet sends Events in parallel
	// with its status and retries after 10 s if the API server was unavailable (client-go, tools/record).
	runtimeGrace = 3 * time.Second
	eventGrace   = 15 * time.Second
	// If the runtime did not report all layers of a new image, the agent repeats its query. layersGrace limits the time
	// in which the agent repeats the query.
	layersGrace = 15 * time.Second
	// requeryAfter is the minimum wait before the agent repeats a query to the runtime. The agent repeats a query if
	// the response lacked facts that the agent expects.
	requeryAfter = time.Second
	// statusPatience is the maximum time from a container's start to the status that reports the start. The kubelet
	// lists the running containers once a second (pleg/generic.go) and limits the rate of its status updates.
	statusPatience = 2 * time.Second
	// presentPatience is the maximum time that the kubelet needs to create a container whose image is present.
	presentPatience = 2 * time.Second
	// giveUpAfter is the time after which the agent gives up on a start-up, counted from the time when the agent first
	// saw the pod. A longer start-up is stuck, not slow, and needs a person's attention. So after giveUpAfter, the
	// agent records the start-up as it is.
	giveUpAfter = time.Hour
	// The kubelet usually begins to create a pod's sandbox within sandboxPatience after it picks up the pod. After
	// sandboxPatience, the agent opens an Event watch to learn the reason for the delay. After a failure, the kubelet
	// waits longer than sandboxPatience before the next attempt (pod_workers.go, backOffPeriod). So a sandbox that
	// appears within sandboxPatience belongs to the first attempt.
	sandboxPatience = 2 * time.Second
	// runtimePatience is the maximum time that the agent waits for the runtime's response about an image. A response
	// usually takes less than a second. If the runtime does not respond, the agent requests the kubelet's Events.
	runtimePatience = 5 * time.Second
)

// Requests returns the evidence that the agent could request now to complete the timeline.
func (e *Evidence) Requests(now time.Time) Requests {
	if !e.PodSeen() || e.gone {
		return Requests{}
	}
	late := func(grace time.Duration) bool { return e.graceOver(now, grace) }
	var w Requests
	switch {
	case !e.scope.Runtime || late(runtimeGrace) && !e.awaitsLayers(now):
	case e.Reconstructed():
		w.Runtime = e.runtimeQueriedAt.IsZero()
	default:
		w.Images, w.Layers = e.requestedImages(now)
		w.Runs = e.runtimeBehind()
		w.Runtime = len(w.Images) > 0 || e.podSeenAt.After(e.runtimeQueriedAt) && !e.runtimeComplete() ||
			w.Runs && now.Sub(e.runtimeQueriedAt) > requeryAfter
	}
	if w.Network = e.scope.Runtime && e.waitsForNetwork(); w.Network && now.Sub(e.runtimeQueriedAt) > requeryAfter {
		w.Runtime = true
	}
	overdue := now.Sub(e.queriedSince()) > runtimePatience || late(runtimeGrace)
	w.Events = e.scope.Events && !e.Reconstructed() && !late(eventGrace) &&
		(e.requestsEvents(overdue) || e.requestsSandboxEvents(now) || e.requestsRefusalEvents())
	return w
}

// requestedImages returns the references of the images about which the agent should query the runtime now. The agent
// queries the runtime about each reference once, and again after a pull. If the response lacks layers, the agent
// repeats the query. The second result lists the references whose layers the agent also requests.
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
			image.layersIncomplete() && now.Sub(image.last.queriedAt) > requeryAfter:
			refs, layers = append(refs, c.Image), append(layers, c.Image)
		}
	}
	return refs, layers
}

// mayHaveNewLayers reports whether a pull might have downloaded layers and the agent has not queried the runtime about
// these layers yet. A runtime that does not report the times of its pulls does not report layers either.
func (i *imageEvidence) mayHaveNewLayers() bool {
	return i.withLayers == nil && (i.wasAbsent() || i.last.Digest != i.Digest) &&
		(!i.last.Present || !i.last.PulledAt.IsZero())
}

// layersIncomplete reports whether the agent should repeat the query, because the runtime's last response lacked layers
// of an image. After a pull, the disk is busy for some time, so a later response can contain the missing layers. The
// agent repeats the query only within layersGrace after the pull.
func (i *imageEvidence) layersIncomplete() bool {
	return i.withLayers != nil && i.withLayers.Incomplete && i.last.queriedAt.Sub(i.last.PulledAt) < layersGrace
}

// awaitsLayers reports whether the agent will query the runtime again for layers that were missing in the last
// response.
func (e *Evidence) awaitsLayers(now time.Time) bool {
	return e.scope.Runtime && !e.Reconstructed() && !e.graceOver(now, layersGrace) &&
		slices.ContainsFunc(e.images, func(i imageEvidence) bool { return i.layersIncomplete() })
}

// pulledSince reports whether the image was pulled, or might have been pulled, after the runtime's last response about
// the image.
func (e *Evidence) pulledSince(c Container, image *imageEvidence) bool {
	index, evidence := e.container(c.Name)
	if evidence == nil {
		return false
	}
	if p, _ := e.refuter(index).firstCredible(evidence); p.known() {
		return !p.present && !image.last.queriedAt.After(p.latest.time())
	}
	used := e.usedBy(index)
	if !image.last.Present {
		return used != maxInstant
	}
	// If the runtime reports timestamps of images, the next response shows whether the image was pulled again.
	return !image.PulledAt.IsZero() && used != maxInstant && at(image.last.queriedAt) <= used &&
		(c.PullPolicy == PullAlways || e.mayBeRemoved(&c, index))
}

// mayBeRemoved reports whether a container's image might have been removed and pulled again. If the image is present,
// the kubelet creates the container immediately. So a late creation can mean that the kubelet's garbage collection
// removed the image.
func (e *Evidence) mayBeRemoved(c *Container, index int16) bool {
	made := e.createdSince(index)
	return c.PullPolicy == PullIfNotPresent && made != maxInstant && !e.createFailed(index) &&
		made-max(e.workStart(c), at(e.firstSeen.at)) > instant(presentPatience)
}

// runtimeComplete reports whether the start-up is over and the runtime has reported all its facts about the start-up.
func (e *Evidence) runtimeComplete() bool { return e.Ended() && !e.runtimeBehind() }

// runtimeBehind reports whether the pod object shows container runs that the runtime has not reported yet.
func (e *Evidence) runtimeBehind() bool {
	for _, c := range e.pod.Containers {
		if c.Kind == KindEphemeral || c.Attempt >= maxAttempts || !c.hasRun() {
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

// queriedSince returns the time when the agent began to query the runtime about the pod.
func (e *Evidence) queriedSince() time.Time {
	return later(e.scope.ResumedAt, e.firstSeen.at)
}

// requestsEvents reports whether the start-up needs the kubelet's Events. If a container's image needs a pull or was
// pulled, the start-up needs Events until the kubelet's Event about the pull arrives. A start-up without pulls and
// without post-start hooks needs no Events. If the runtime's response about an image is overdue, the agent assumes that
// the image might need a pull.
//
// If a container has a post-start hook, the start-up needs the Event about the image of the next container. Only this
// Event shows when the hook ended. If the kubelet pulls an image volume again at each sync, the whole start-up needs
// Events.
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
		if p, _ := e.refuter(index).firstCredible(evidence); p.known() && (!c.pullsAgain() || e.Ended()) {
			continue
		}
		// The runtime's response will show whether the image is present.
		awaited := e.scope.Runtime && e.image(c.Image) == nil && !overdue
		if hookBefore || c.PullPolicy == PullAlways || !awaited && e.mayBePulled(c) {
			return true
		}
	}
	return false
}

// requestsSandboxEvents reports whether the creation of the sandbox took so long that an attempt might have failed. If
// the pod lost its sandbox, requestsSandboxEvents returns true until the next sandbox runs.
func (e *Evidence) requestsSandboxEvents(now time.Time) bool {
	if e.sandboxLost() {
		return true
	}
	acknowledged, _ := e.latestTime(podMilestone(MilestoneAcknowledged))
	if acknowledged == 0 {
		return false
	}
	begun, known := e.latestTime(podMilestone(MilestoneSandboxBegun))
	if !known {
		return !e.sandboxRan() && at(now)-acknowledged > instant(sandboxPatience)
	}
	return e.watchFirstOpened.IsZero() && begun-acknowledged > instant(sandboxPatience)
}

// waitsForNetwork reports whether the kubelet delays the sandbox because the network is not ready. The kubelet repeats
// its Event about the network. After half a minute, the kubelet's client drops most of these Events (spamLimit). Then
// only the runtime shows when the network becomes ready.
func (e *Evidence) waitsForNetwork() bool {
	return !e.Ended() && !e.sandboxRan() &&
		slices.ContainsFunc(e.obstacleEvents,
			func(h obstacleEvent) bool { return h.obstacle == obstacleNetworkNotReady })
}

// mayBePulled reports whether the kubelet might have pulled the container's image for this pod.
func (e *Evidence) mayBePulled(c Container) bool {
	image := e.image(c.Image)
	return image == nil || image.wasAbsent() || !image.beforeSandbox && !e.pulledBefore(image)
}

// mayNeedPull reports whether the kubelet might have pulled the image of a container or checked it with the registry.
func (e *Evidence) mayNeedPull(c Container) bool {
	return c.PullPolicy != PullNever && (c.PullPolicy == PullAlways || e.mayBePulled(c))
}

// RuntimeRequest is a request to the runtime for facts about one pod.
type RuntimeRequest struct {
	UID        string // the pod object's UID, which the response also contains
	RuntimeUID string // the pod's UID in the runtime
	Images     []string
	Layers     []string // the references in Images whose layers are also requested
	Network    bool     // ask the runtime whether its network is ready
	Runs       bool     // the pod object reports container runs, so the runtime has containers
}

// EventWatch identifies the pod whose kubelet Events the agent requests.
type EventWatch struct {
	UID         string // the pod object's UID, which the observations also contain
	InvolvedUID string // value of the field involvedObject.uid; for static pods, the UID that the kubelet uses
	Namespace   string
	Name        string
	// ArrivedAt is the time on the agent's clock at which the pod watch delivered the new pod. ArrivedAt is zero if the
	// agent first saw the pod in a list, or if the kubelet started the pod without the API server.
	ArrivedAt time.Time
}

// Requests lists the evidence that one pod's timeline lacks and that a source can provide now.
type Requests struct {
	Runtime bool     // query the runtime about the pod
	Runs    bool     // the pod object reports container runs that the runtime has not reported
	Images  []string // image references in the spec; the caller asks the runtime whether the images are present
	Layers  []string // the references in Images whose layers are also requested
	Network bool     // ask the runtime whether its network is ready
	Events  bool     // keep an Event watch open for the pod
}
