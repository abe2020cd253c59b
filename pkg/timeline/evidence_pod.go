package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Apply adds what an observation tells. Observations about other pods are the caller's error. It returns
// whether the observation was news: if not, all but the latest pod object and when the runtime was last
// asked would be the same without it.
func (e *Evidence) Apply(o Observation) (changed bool) {
	e.changed = false
	switch o := o.(type) {
	case PodSeen:
		e.applyPod(o)
	case PodGone:
		e.changed = e.changed || !e.gone
		e.gone = true
		e.constrain(arrival(podMark(MarkDeleted), originArrival, o.ArrivedAt, o.Live))
	case EventSeen:
		e.applyEvent(o)
	case EventsWatched:
		if e.watchFirstOpened.IsZero() || o.OpenedAt.Before(e.watchFirstOpened) {
			e.watchFirstOpened, e.changed = o.OpenedAt, true
		}
		if opened := at(o.OpenedAt); opened > e.watchLastOpened {
			e.watchLastOpened, e.changed = opened, true
		}
	case EventsLost:
		if lost := at(o.ArrivedAt); lost > e.watchLost {
			e.watchLost, e.changed = lost, true
		}
	case RuntimeSeen:
		e.applyRuntime(o)
	}
	if _, seen := o.(PodSeen); seen || e.changed {
		e.cached = nil
	}
	return e.changed
}

func podMark(m Mark) markKey { return markKey{container: podWide, mark: m} }

func (e *Evidence) applyPod(o PodSeen) {
	e.keepFirstSighting(o)
	if after := o.ArrivedAt.Compare(e.podSeenAt); after > 0 || after == 0 && comparePods(&o.Pod, &e.pod) > 0 {
		e.podSeenAt, e.pod = o.ArrivedAt, o.Pod
	}
	e.keepReason(o)
	stamped := func(m Mark, by origin, stamp time.Time) {
		if !stamp.IsZero() {
			e.constrain(second(podMark(m), by, stamp))
			e.constrain(arrival(podMark(m), originArrival, o.ArrivedAt, o.Live))
		}
	}
	e.keepGeneration(o.Pod.Generation)
	if o.Pod.KubeletGeneration > 0 && !e.kubelet133 {
		e.kubelet133, e.changed = true, true
	}
	if o.Pod.refusedBeforeBound() {
		stamped(MarkUnschedulable, originControlPlane, o.Pod.UnschedulableAt)
	}
	e.constrain(arrival(podMark(MarkCreated), originArrival, o.ArrivedAt, o.Live))
	if o.Pod.ReadAt.IsZero() {
		stamped(MarkCreated, originControlPlane, o.Pod.CreatedAt)
	} else {
		e.constrain(point(podMark(MarkCreated), originStatus, o.Pod.ReadAt))
	}
	stamped(MarkAcknowledged, originStatus, o.Pod.AcknowledgedAt)
	stamped(MarkDeleted, originControlPlane, o.Pod.DeletedAt)
	for _, c := range o.Pod.Conditions {
		if !c.True {
			e.applyLost(o, c)
			continue
		}
		switch c.Type {
		case "PodScheduled":
			if o.Pod.ReadAt.IsZero() { // nobody schedules a static pod; kubelet sets the condition later
				stamped(MarkScheduled, originControlPlane, c.TransitionAt)
			}
		case "PodReadyToStartContainers":
			// Prompt only from kubelet 1.36; before, it can come after the pulls: an upper bound.
			e.constrain(arrival(podMark(MarkSandboxRunning), originArrival, o.ArrivedAt, o.Live))
		case "ContainersReady":
			stamped(MarkContainersReady, originStatus, c.TransitionAt)
		case "Ready":
			stamped(MarkReady, originStatus, c.TransitionAt)
		}
	}
	switch o.Pod.Phase {
	case "Succeeded":
		e.constrain(arrival(podMark(MarkSucceeded), originArrival, o.ArrivedAt, o.Live))
	case "Failed":
		e.constrain(arrival(podMark(MarkFailed), originArrival, o.ArrivedAt, o.Live))
	}
	if e.containers == nil {
		e.containers = make([]containerEvidence, 0, min(len(o.Pod.Containers), maxContainers))
	}
	for _, c := range o.Pod.Containers {
		e.applyStatus(o, c)
	}
}

// applyLost reads a condition that is no longer true: whenever it was, it was before.
func (e *Evidence) applyLost(o PodSeen, c Condition) {
	var m Mark
	switch c.Type {
	case "ContainersReady":
		m = MarkContainersReady
	case "Ready":
		m = MarkReady
	default:
		return
	}
	if !wasTrue(o.Pod, c) {
		return
	}
	e.constrain(constraint{key: podMark(m), origin: originStatus, earliest: minInstant, latest: at(c.TransitionAt) + instant(time.Second) - 1})
	e.constrain(arrival(podMark(m), originArrival, o.ArrivedAt, false))
}

func (e *Evidence) keepFirstSighting(o PodSeen) {
	seen := sighting{o.ArrivedAt, o.Live, wasReady(o.Pod), o.Pod.AcknowledgedAt.IsZero() && o.Pod.ReadAt.IsZero()}
	if e.firstSeen.at.IsZero() || compareSightings(seen, e.firstSeen) < 0 {
		e.firstSeen, e.changed = seen, true
	}
}

// keepReason keeps what kubelet said last of a container that waits, before the pod was deleted or failed: its containers'
// statuses then say what that did to them.
func (e *Evidence) keepReason(o PodSeen) {
	if !o.Pod.DeletedAt.IsZero() || o.Pod.Phase == "Failed" || o.Pod.Phase == "Succeeded" {
		return
	}
	latest := waitingReason{at: at(o.ArrivedAt)}
	for _, c := range o.Pod.Containers {
		if c.State == StateWaiting && c.WaitingReason != "ContainerCreating" && c.WaitingReason != "PodInitializing" {
			latest.reason = cmp.Or(latest.reason, c.WaitingReason)
		}
	}
	if latest.compare(e.waiting) > 0 {
		e.changed = e.changed || latest.reason != e.waiting.reason
		e.waiting = latest
	}
}

// readyAtFirst bounds how long after kubelet took a pod up it writes the first, false, Ready condition:
// both go out with the same status, but their stamps are floored on their own.
const readyAtFirst = 2 * time.Second

// wasReady says that the pod's start-up is over.
func wasReady(p Pod) bool {
	if p.Phase == "Succeeded" || p.Phase == "Failed" {
		return true
	}
	for _, c := range p.Conditions {
		if c.Type == "Ready" {
			return c.True || wasTrue(p, c)
		}
	}
	return false
}

// wasTrue says that a condition which is false had been true before: it turned later than it was first written.
func wasTrue(p Pod, c Condition) bool {
	return !c.True && !p.AcknowledgedAt.IsZero() && c.TransitionAt.Sub(p.AcknowledgedAt) > readyAtFirst
}

// applyStatus reads one container's status. Kubelet learns of starts and exits from the runtime's
// list, up to a second later, so their arrival is only a bound; probes it runs itself, so news of
// them is fresh.
func (e *Evidence) applyStatus(o PodSeen, c Container) {
	index, evidence := e.container(c.Name)
	if evidence == nil {
		return
	}
	addRun := func(m Mark, attempt int, stamp time.Time) {
		if !stamp.IsZero() {
			k := markKey{container: index, mark: m, attempt: clampAttempt(attempt)}
			e.constrain(second(k, originStatus, stamp))
			e.constrain(arrival(k, originArrival, o.ArrivedAt, false))
		}
	}
	addRun(MarkRunning, c.Attempt, c.StartedAt)
	if c.State == StateTerminated {
		if !lostRun(c.EndReason, c.ExitCode) {
			addRun(MarkFinished, c.Attempt, c.FinishedAt)
		}
		e.keepExit(evidence, c.Attempt, c.ExitCode)
	}
	if c.LastRun != nil {
		last := c.Attempt - 1
		if c.State == StateWaiting {
			last = c.Attempt // in back-off kubelet calls the current run the last one (kubelet_pods.go)
		}
		if last >= 0 {
			addRun(MarkRunning, last, c.LastRun.StartedAt)
			if !lostRun(c.LastRun.Reason, c.LastRun.ExitCode) {
				addRun(MarkFinished, last, c.LastRun.FinishedAt)
			}
			e.keepExit(evidence, last, c.LastRun.ExitCode)
		}
	}
	if c.State == StateWaiting {
		e.applyWaiting(index, evidence, o, c)
	}
	if c.Kind == KindInit {
		return
	}
	if c.PostStartHook && c.State == StateRunning {
		// The hook runs within kubelet's start of the container, before its status is written (startContainer).
		e.constrain(arrival(markKey{index, clampAttempt(c.Attempt), MarkPostStarted}, originArrival, o.ArrivedAt, o.Live))
	}
	if c.Started {
		e.constrain(arrival(markKey{index, clampAttempt(c.Attempt), MarkStarted}, originArrival, o.ArrivedAt, o.Live))
	}
	if c.Ready {
		e.constrain(arrival(markKey{index, clampAttempt(c.Attempt), MarkContainerReady}, originArrival, o.ArrivedAt, o.Live))
	}
}

// applyWaiting reads why a container waits.
func (e *Evidence) applyWaiting(index int16, evidence *containerEvidence, o PodSeen, c Container) {
	if c.PullFailure != imagepull.FailureNone {
		e.applyPullFailure(evidence, o, c.PullFailure)
	}
	if c.WaitingReason == inspectError && c.Attempt == 0 && c.LastRun == nil {
		e.constrain(arrival(markKey{index, 0, MarkInspectFailed}, originArrival, o.ArrivedAt, o.Live))
	}
	if m, refused := createFailureMarks[c.WaitingReason]; refused {
		next := c.Attempt
		if c.LastRun != nil {
			next++ // as in back-off
		}
		e.constrain(arrival(markKey{index, clampAttempt(next), m}, originArrival, o.ArrivedAt, o.Live))
	}
}

// inspectError is kubelet's word for a runtime that does not say whether it has an image: nothing was asked of a registry.
const inspectError = "ImageInspectError"

// createFailureMarks are kubelet's words for a container that cannot be made, each with the mark that is dated by the first status
// that says so: kubelet tries again until it can (kuberuntime and images packages).
var createFailureMarks = map[string]Mark{
	"CreateContainerConfigError": MarkConfigRefused, // a ConfigMap, Secret or key is missing, or the user would be root
	"ErrImageNeverPull":          MarkConfigRefused, // the image is not there and must not be pulled
	"CreateContainerError":       MarkCreateFailed,
}

// applyPullFailure reads a status that says that a pull had failed: kubelet writes it right after. It is of use where
// the Events that tell of failures are not seen.
func (e *Evidence) applyPullFailure(c *containerEvidence, o PodSeen, why imagepull.Failure) {
	news := arrival(markKey{}, originArrival, o.ArrivedAt, o.Live)
	f := failureEvent{window{news.origin, news.lean, news.earliest, news.latest}, 0, why}
	if c.statusFailure == nil || f.compare(*c.statusFailure) < 0 {
		c.statusFailure, e.changed = &f, true
	}
	if !slices.Contains(c.statusReasons, why) {
		c.statusReasons, e.changed = append(c.statusReasons, why), true
	}
}

func (e *Evidence) applyRuntime(o RuntimeSeen) {
	if o.AskedAt.After(e.runtimeAskedAt) {
		e.runtimeAskedAt = o.AskedAt
	}
	e.applyNetwork(o)
	running := false
	for _, s := range o.Sandboxes {
		running = running || s.Ready
		e.applySandbox(s)
	}
	for _, r := range o.Containers {
		e.applyRun(r)
	}
	for _, image := range o.Images {
		e.applyImage(o.AskedAt, image, !running && len(o.Containers) == 0)
	}
}

// applyNetwork keeps when the runtime's network was and was not ready, where that was asked.
func (e *Evidence) applyNetwork(o RuntimeSeen) {
	asked := at(o.AskedAt)
	if o.NetworkUp && (e.networkUp == 0 || asked < e.networkUp) {
		e.networkUp, e.changed = asked, true
	}
	if i, known := slices.BinarySearch(e.networkDowns, asked); o.NetworkDown && !known && i < maxNetworkDowns {
		longer := slices.Insert(e.networkDowns, i, asked)
		e.networkDowns, e.changed = longer[:min(len(longer), maxNetworkDowns)], true
	}
}

func (e *Evidence) applySandbox(s Sandbox) {
	addPoint := func(m Mark, o origin, stamp time.Time) {
		if !stamp.IsZero() {
			e.constrain(point(markKey{podWide, clampAttempt(s.Attempt), m}, o, stamp))
		}
	}
	if known := e.imageKnown.with(clampAttempt(s.Attempt)); s.ImageKnown && known != e.imageKnown {
		e.imageKnown, e.changed = known, true
	}
	addPoint(MarkSandboxBegun, originStore, s.BegunAt)
	addPoint(MarkSandboxImageResolved, originStore, s.ImageResolvedAt)
	addPoint(MarkSandboxImagePulled, originStore, s.ImagePulledAt)
	addPoint(MarkNetworkReady, originRuntime, s.NetworkReadyAt)
	addPoint(MarkSandboxRunning, originStore, s.RunningAt)
	if !s.CreatedAt.IsZero() {
		begun := markKey{podWide, clampAttempt(s.Attempt), MarkSandboxBegun}
		e.constrain(constraint{key: begun, origin: originRuntime, earliest: minInstant, latest: at(s.CreatedAt)})
		ran := markKey{podWide, clampAttempt(s.Attempt), MarkSandboxRunning}
		e.constrain(constraint{key: ran, origin: originRuntime, earliest: at(s.CreatedAt), latest: maxInstant})
	}
}

func (e *Evidence) applyRun(r ContainerRun) {
	index, evidence := e.container(r.Name)
	if evidence == nil {
		return
	}
	addPoint := func(m Mark, stamp time.Time) {
		if !stamp.IsZero() {
			e.constrain(point(markKey{index, clampAttempt(r.Attempt), m}, originRuntime, stamp))
		}
	}
	addPoint(MarkContainerCreated, r.CreatedAt)
	addPoint(MarkRunning, r.StartedAt)
	if r.endUnknown() {
		e.constrain(constraint{key: markKey{index, clampAttempt(r.Attempt), MarkFinished}, origin: originRuntime, earliest: at(r.StartedAt), latest: at(r.FinishedAt)})
	} else {
		addPoint(MarkFinished, r.FinishedAt)
	}
	if !r.FinishedAt.IsZero() {
		e.keepExit(evidence, r.Attempt, r.ExitCode)
	}
}

// endUnknown says that the runtime does not know when a run ended, as after a reboot of the node: it says then when it found out
// (containerd: internal/cri/server/restart.go).
func (r *ContainerRun) endUnknown() bool {
	return lostRun(r.Reason, r.ExitCode) && !r.StartedAt.IsZero() && r.StartedAt.Before(r.FinishedAt)
}

// lostRun says by the reason and the exit code of a run's end that the runtime found it gone.
func lostRun(reason string, code int) bool { return reason == "Unknown" && code == 255 }

func (e *Evidence) applyImage(askedAt time.Time, image Image, beforeSandbox bool) {
	known := e.image(image.Ref)
	if known == nil {
		if len(e.images) == maxContainers {
			e.markOverflow()
			return
		}
		e.changed = true
		answer := &imageAnswer{image, askedAt}
		e.images = append(e.images, imageEvidence{imageAnswer: answer, last: answer, beforeSandbox: beforeSandbox})
		if image.hasLayers() {
			e.images[len(e.images)-1].layered = answer
		}
		return
	}
	first := cmp.Or(askedAt.Compare(known.askedAt), compareBools(known.beforeSandbox, beforeSandbox), compareImages(&image, &known.Image)) < 0
	last := known.last.before(askedAt, &image)
	layered := image.hasLayers() && (known.layered == nil || known.layered.containsLess(askedAt, &image))
	if !first && !last && !layered {
		return
	}
	kept := &imageAnswer{image, askedAt}
	if first {
		known.imageAnswer, known.beforeSandbox = kept, beforeSandbox
	}
	if last {
		known.last = kept
	}
	if layered {
		known.layered = kept
	}
	e.changed = true
}

// before orders answers by when they were asked for; the order of those of one instant is any, but total.
func (a *imageAnswer) before(askedAt time.Time, image *Image) bool {
	return cmp.Or(a.askedAt.Compare(askedAt), compareImages(&a.Image, image)) < 0
}

// containsLess says that another answer about layers is the one to keep: the later one, unless it has less in it.
func (a *imageAnswer) containsLess(askedAt time.Time, image *Image) bool {
	if a.Untold != image.Untold {
		return a.Untold
	}
	return a.before(askedAt, image)
}

// hasLayers says that the answer has the layers, as far as the runtime knows them.
func (i *Image) hasLayers() bool { return i.Layered && i.Present }

func clampAttempt(n int) uint16 { return uint16(min(max(n, 0), 1<<16-1)) }
