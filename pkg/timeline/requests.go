package timeline

import (
	"slices"
	"time"
)

// How long to wait for evidence that should be on its way.
const (
	// How long after the end of start-up late evidence is waited for: an answer of the runtime, and the
	// Events that the kubelet sends beside its status, again after 10 s where the API server was away
	// (client-go, tools/record).
	runtimeGrace = 3 * time.Second
	eventGrace   = 15 * time.Second
	// layersGrace is how long stores are asked again that do not tell in time of the layers of an image that just came.
	layersGrace = 15 * time.Second
	// reaskAfter is how long after an answer that did not hold what the pod object tells the runtime is
	// asked again.
	reaskAfter = time.Second
	// statusPatience is how long the kubelet may take from a container's start to the status that says so: it lists what
	// runs once a second (pleg/generic.go), and limits how often it writes.
	statusPatience = 2 * time.Second
	// presentPatience is how long the kubelet may take to make a container whose image is there.
	presentPatience = 2 * time.Second
	// giveUpAfter is how long after its first sight a start-up is followed: what takes longer is no slow start but
	// one that somebody has to mend, and belongs into the records as it stands.
	giveUpAfter = time.Hour
	// sandboxPatience is how long the kubelet may take from taking a pod up to a sandbox before it is worth
	// an Event watch to learn why. After a failure the kubelet waits longer than this before it tries
	// again (pod_workers.go, backOffPeriod), so a sandbox that began sooner was the first.
	sandboxPatience = 2 * time.Second
	// runtimePatience is how long the runtime may take to say whether an image is on the node: an answer takes less than a second. One
	// that does not answer must not keep the kubelet's word from being asked for.
	runtimePatience = 5 * time.Second
)

// Wants says what could be fetched now to complete the timeline.
func (e *Evidence) Wants(now time.Time) Wants {
	if !e.PodSeen() || e.gone {
		return Wants{}
	}
	late := func(grace time.Duration) bool { return e.graceOver(now, grace) }
	var w Wants
	switch {
	case !e.scope.Runtime || late(runtimeGrace) && !e.awaitsLayers(now):
	case e.beforeAgent():
		w.Runtime = e.runtimeAskedAt.IsZero()
	default:
		w.Images, w.Layers = e.wantedImages(now)
		w.Runtime = len(w.Images) > 0 || e.podSeenAt.After(e.runtimeAskedAt) && !e.runtimeComplete() ||
			e.runtimeBehind() && now.Sub(e.runtimeAskedAt) > reaskAfter
	}
	if w.Network = e.scope.Runtime && e.waitsForNetwork(); w.Network && now.Sub(e.runtimeAskedAt) > reaskAfter {
		w.Runtime = true
	}
	overdue := now.Sub(e.askedSince()) > runtimePatience || late(runtimeGrace)
	w.Events = e.scope.Events && !e.beforeAgent() && !late(eventGrace) && (e.wantsEvents(overdue) || e.wantsSandboxEvents(now))
	return w
}

// wantedImages are the references whose presence says whether the kubelet pulls: each is asked about once,
// and once more after a pull, for what it brought. Of those layers are wanted as well.
func (e *Evidence) wantedImages(now time.Time) (refs, layers []string) {
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
		case image.last.Present && image.mayHaveNewLayers(), image.layersIncomplete() && now.Sub(image.last.askedAt) > reaskAfter:
			refs, layers = append(refs, c.Image), append(layers, c.Image)
		}
	}
	return refs, layers
}

// mayHaveNewLayers says that a pull may have brought layers that nobody has asked about. A runtime that does not tell
// when it pulled does not tell of layers either.
func (i *imageEvidence) mayHaveNewLayers() bool {
	return i.layered == nil && (i.wasAbsent() || i.last.Digest != i.Digest) && (!i.last.Present || !i.last.PulledAt.IsZero())
}

// layersIncomplete says that the runtime had not the time to tell all of an image's layers, and that another answer may: the disk is
// busy for some time after a pull. It is asked as long as that takes at most.
func (i *imageEvidence) layersIncomplete() bool {
	return i.layered != nil && i.layered.Untold && i.last.askedAt.Sub(i.last.PulledAt) < layersGrace
}

// awaitsLayers says that the runtime will be asked again for layers that it did not tell in time.
func (e *Evidence) awaitsLayers(now time.Time) bool {
	return e.scope.Runtime && !e.beforeAgent() && !e.graceOver(now, layersGrace) &&
		slices.ContainsFunc(e.images, func(i imageEvidence) bool { return i.layersIncomplete() })
}

// pulledSince says that the image was pulled after the last answer about it.
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
	// Whether it was pulled again, its stamp tells, if the runtime has one.
	return !image.PulledAt.IsZero() && used != maxInstant && at(image.last.askedAt) <= used && (c.PullPolicy == PullAlways || e.mayBeRemoved(&c, index))
}

// mayBeRemoved says that a container was made so long after its turn that an image that had been there may have been removed and
// pulled meanwhile, as after the kubelet's garbage collection. Who finds its image makes it at once.
func (e *Evidence) mayBeRemoved(c *Container, index int16) bool {
	made := e.createdSince(index)
	return c.PullPolicy == PullIfNotPresent && made != maxInstant && !e.createFailed(index) && made-max(e.workStart(c), at(e.firstSeen.at)) > instant(presentPatience)
}

// runtimeComplete says that the runtime has told all it can of the way to readiness.
func (e *Evidence) runtimeComplete() bool {
	_, over := e.endLearned()
	return over && !e.runtimeBehind()
}

// runtimeBehind says that the pod object tells of runs that the runtime has not shown.
func (e *Evidence) runtimeBehind() bool {
	for _, c := range e.pod.Containers {
		if c.Kind == KindEphemeral || c.Attempt >= maxAttempts || c.State != StateRunning && c.State != StateTerminated {
			continue
		}
		index, evidence := e.container(c.Name)
		if evidence == nil {
			continue
		}
		if !e.hasRuntimeConstraint(markKey{index, clampAttempt(c.Attempt), MarkRunning}) ||
			c.State == StateTerminated && !e.hasRuntimeConstraint(markKey{index, clampAttempt(c.Attempt), MarkFinished}) {
			return true
		}
	}
	return false
}

// askedSince is from when on the runtime has been asked about the pod.
func (e *Evidence) askedSince() time.Time {
	if e.scope.ResumedAt.After(e.firstSeen.at) {
		return e.scope.ResumedAt
	}
	return e.firstSeen.at
}

// wantsEvents says that a container waits for a pull, or was pulled for, and the kubelet's word on it has
// not come. A pod whose images are all on the node wants none. Once the runtime is overdue, an image that it has not
// answered for may be pulled.
//
// After a post-start hook one does: only an Event about the next image tells when the hook was over.
func (e *Evidence) wantsEvents(overdue bool) bool {
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
		awaited := e.scope.Runtime && e.image(c.Image) == nil && !overdue // the answer will tell
		if hookBefore || c.PullPolicy == PullAlways || !awaited && e.mayBePulled(c) {
			return true
		}
	}
	return false
}

// wantsSandboxEvents says that the sandbox is, or was, so long in coming that one may have failed.
func (e *Evidence) wantsSandboxEvents(now time.Time) bool {
	acknowledged, _ := e.latest(podMark(MarkAcknowledged))
	if acknowledged == 0 {
		return false
	}
	begun, known := e.latest(podMark(MarkSandboxBegun))
	if !known {
		return !e.sandboxRan() && at(now)-acknowledged > instant(sandboxPatience)
	}
	return e.watchFirstOpened.IsZero() && begun-acknowledged > instant(sandboxPatience)
}

// waitsForNetwork says that the kubelet does not make the sandbox because the network is not ready. The kubelet drops its Events about that
// after half a minute, so that only the runtime tells how long it goes on.
func (e *Evidence) waitsForNetwork() bool {
	_, over := e.endLearned()
	return !over && !e.sandboxRan() && slices.ContainsFunc(e.obstacleEvents, func(h obstacleEvent) bool { return h.obstacle == obstacleNetworkNotReady })
}

// mayBePulled says whether evidence leaves room for a pull of this container's image.
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
	UID        string // the pod object's UID, to be repeated in the answer
	RuntimeUID string // the UID the runtime knows the pod by
	Images     []string
	Layers     []string // those of Images whose layers are wanted as well
	Network    bool     // whether the runtime's network is ready is wanted as well
}

// EventWatch names the pod whose kubelet Events are wanted.
type EventWatch struct {
	UID         string // the pod object's UID, to be repeated in observations
	InvolvedUID string // involvedObject.uid: for static pods the kubelet's UID
	Namespace   string
	Name        string
}

// Wants is the evidence that one pod's timeline lacks and a source could fetch now.
type Wants struct {
	Runtime bool     // ask the runtime about the pod
	Images  []string // when asking: also whether these references, as written in the spec, are present
	Layers  []string // when asking: those of Images whose layers are wanted as well
	Network bool     // when asking: also whether the runtime's network is ready
	Events  bool     // keep an Event watch open for the pod
}
