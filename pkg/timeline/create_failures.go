package timeline

import (
	"cmp"
	"slices"
	"strings"
)

// notConfigTexts lists parts of the kubelet's messages about failures to create a container. These failures do not come
// from the container's configuration. Either the kubelet has not received ConfigMaps, Secrets or Services from the API
// server yet, or a volume is wrong. See pkg/kubelet/{configmap,secret,volumemanager} and kubelet_pods.go in Kubernetes.
var notConfigTexts = []string{
	"failed to sync configmap cache", "failed to sync secret cache", "services have not yet been read at least once",
	"failed to prepare subPath for volumeMount", "cannot find volume",
}

// applyCreateFailure records the latest failure to create a container. If the kubelet's message shows that the
// container's configuration did not cause the failure, applyCreateFailure records this fact too.
func (e *Evidence) applyCreateFailure(o EventSeen) {
	if o.Reason != "Failed" || o.Container == "" {
		return
	}
	_, c := e.container(o.Container)
	if text, ok := strings.CutPrefix(o.Message, "Error: "); c != nil && ok && !isImageFailure(text) {
		keepEarliest(e, &c.refusedAt, firstOccurrence(o), 1)
		e.keepRefusal(c, text)
		r := refusals{firstOccurrence(o), latestOccurrence(o), o.Count}
		if later := cmp.Or(cmp.Compare(r.count, c.refused.count), c.refused.last.compare(r.last)); later > 0 {
			c.refused, e.changed = r, true
		}
	}
	for _, text := range notConfigTexts {
		if !strings.Contains(o.Message, text) {
			continue
		}
		if c != nil && !c.notConfig {
			c.notConfig, e.changed = true, true
		}
	}
}

// imageFailures lists the errors of the kubelet that concern a container's image (pkg/kubelet/images/types.go and
// cri-api's pkg/errors in Kubernetes). After such an error, the kubelet does not create the container.
var imageFailures = []string{
	"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "InvalidImageName", "RegistryUnavailable",
	"SignatureValidationFailed",
}

// isImageFailure reports whether the error in an Event concerns a container's image. ErrImageNeverPull is no image
// failure, because the kubelet found that it must not start the container.
func isImageFailure(text string) bool {
	return slices.ContainsFunc(imageFailures, func(failure string) bool {
		rest, ok := strings.CutPrefix(text, failure)
		return ok && (rest == "" || rest[0] == ':')
	})
}

// keepRefusal records the error in an Event about a failure to create a container, or that the errors differ.
func (e *Evidence) keepRefusal(c *containerEvidence, text string) {
	switch hash := textHash(text); {
	case c.refusal == 0:
		c.refusal, e.changed = hash, true
	case c.refusal != hash && !c.refusalsDiffer:
		c.refusalsDiffer, e.changed = true, true
	}
}

// alsoNotConfig lists the possible phases of a container's wait if causes other than the container's configuration are
// also possible.
var alsoNotConfig = []Phase{PhaseContainerConfig, PhaseAPIServer, PhaseVolumes, PhaseKubeletSync}

// isUndatedRefusal reports whether the evidence only shows that the kubelet refused a container at some time before the
// agent first listed the pod.
func (e *Evidence) isUndatedRefusal(k milestoneKey) bool {
	for _, c := range e.constraints[searchConstraints(e.constraints, k):] {
		if c.key != k {
			break
		}
		if c.origin == originArrival {
			return c.lean == leanNone
		}
	}
	return false
}

// createFailureUndated reports whether the evidence only shows that the kubelet failed to create a container at some
// time before the agent first listed the pod.
func (e *Evidence) createFailureUndated(index int16) bool {
	return e.isUndatedRefusal(milestoneKey{index, 0, MilestoneConfigRefused}) ||
		e.isUndatedRefusal(milestoneKey{index, 0, MilestoneCreateFailed})
}

// requestsRefusalEvents reports whether only the kubelet's Events can show when the kubelet first refused a container.
func (e *Evidence) requestsRefusalEvents() bool {
	if !e.watchFirstOpened.IsZero() {
		return false // the watch began with the Events that the API server still had
	}
	for i := range e.containers {
		if e.createFailureUndated(int16(i)) {
			return true
		}
	}
	return false
}

// isRefusalReported reports whether an Event shows when the kubelet first refused a container.
func (f *fold) isRefusalReported(k milestoneKey) bool {
	at, known := f.refusedAt(k.container)
	return k.attempt == 0 && known && at.latest <= f.bounds.find(k).latest
}

// refusedAt returns the time when the kubelet first refused a container, according to the Events. The time is unknown
// if the Events report several errors, because only one of them is the reason in the pod's status. The time is also
// unknown if the Event can be about a later attempt.
func (f *fold) refusedAt(index int16) (at window, known bool) {
	c := &f.e.containers[index]
	if len(c.refusedAt) == 0 || c.refusalsDiffer {
		return window{}, false
	}
	at = c.refusedAt[0]
	if pulled := f.pulls[index].pulled; pulled.known() {
		return at, follows(pulled.earliest, at)
	}
	return at, f.isFirstAttempt(index, at)
}

// isFirstAttempt reports whether an Event about a container is certainly about the kubelet's first attempt to create
// it. The Event is about the first attempt if it immediately follows the start of the sandbox or of the previous
// container. Otherwise, the Event can be about a later attempt, because the first Event can have expired.
func (f *fold) isFirstAttempt(index int16, event window) bool {
	before := f.before(f.e.containers[index].name)
	return slices.ContainsFunc(f.e.constraints, func(c constraint) bool {
		begins := before == nil && c.key.milestone == MilestoneSandboxRunning
		if before != nil && c.key.container == f.index(before.Name) {
			begins = c.key.milestone == MilestoneRunning && c.key.attempt == 0 && before.Kind != KindInit ||
				c.key.milestone == MilestoneFinished && before.Kind == KindInit
		}
		return begins && follows(c.earliest, event)
	})
}

// The function "follows" reports whether an Event comes so soon after the beginning of an attempt that the kubelet
// cannot have failed and tried again.
func follows(begun instant, event window) bool {
	return begun <= event.latest && event.earliest-instant(podRetryLeast) < begun
}

// refusalConstraints dates the first refusal of a container by the Event about it, if only a list of the pods shows the
// refusal.
func (f *fold) refusalConstraints(index int16) (constraints []constraint) {
	at, known := f.refusedAt(index)
	for _, m := range [...]Milestone{MilestoneConfigRefused, MilestoneCreateFailed} {
		if k := (milestoneKey{index, 0, m}); known && f.e.isUndatedRefusal(k) {
			if latest, _ := f.e.latestTime(k); at.latest <= latest {
				constraints = append(constraints, at.constraint(k))
			}
		}
	}
	return constraints
}

// createFailureConstraints dates the first failure to create a container by the time when the container's image was
// present. The kubelet creates the container immediately after it pulls or finds the image (startContainer in
// pkg/kubelet/kuberuntime). The kubelet reports the failure in the pod's status only when it processes the pod again.
// By then, the reason for the failure can be gone. If the status arrives later than the kubelet's next retry, the
// kubelet was stopped or lacked CPU. Then the time when the image was present does not show the time of the failure.
func (f *fold) createFailureConstraints(index int16) (constraints []constraint) {
	constraints = f.refusalConstraints(index)
	pulled := f.pulls[index].pulled
	if !pulled.known() || pulled.present && pulled.origin != originEventName {
		return constraints
	}
	by := pulled.latest + eventSlack
	key := milestoneKey{index, 0, MilestoneConfigRefused}
	if latest, known := f.e.latestTime(key); known && by < latest && latest-by <= instant(podRetry+retrySlack) {
		constraints = append(constraints, constraint{key, originEventDuration, leanEarliest, pulled.earliest, by})
	}
	return constraints
}
