package timeline

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// configErrors lists patterns of kubelet messages that prove an error in a container's configuration. The reason
// CreateContainerConfigError alone does not prove such an error. The kubelet also uses this reason for other problems,
// for example a wrong volume, a failed device plugin, a failed API server, or a full disk. See generateContainerConfig
// in pkg/kubelet/kuberuntime, makeEnvironmentVariables in pkg/kubelet and security_context.go in Kubernetes.
var configErrors = []*regexp.Regexp{
	regexp.MustCompile(`\b(secret|configmap)s? "[^"]*" not found`),
	regexp.MustCompile(`couldn't find key .* in (Secret|ConfigMap) `),
	regexp.MustCompile(`^missing value for `), // for an expression in subPathExpr
	regexp.MustCompile(`environment variable key "[^"]*" not found in file `),
	regexp.MustCompile(`container has runAsNonRoot and `),
	regexp.MustCompile(`container's runAsUser breaks non-root policy`),
	regexp.MustCompile(`^ErrImageNeverPull\b`),
}

// IsConfigError examines the kubelet's error about a failure to create a container. The result is true if the error
// proves that the container's configuration is wrong, or that the configuration refers to an object that does not
// exist.
func IsConfigError(text string) bool {
	return slices.ContainsFunc(configErrors, func(e *regexp.Regexp) bool { return e.MatchString(text) })
}

// applyCreateFailure processes an Event about a failure to create a container. It records the first and the latest
// failure, and whether the error proves that the container's configuration is wrong.
func (e *Evidence) applyCreateFailure(o EventSeen) {
	if o.Reason != "Failed" || o.Container == "" {
		return
	}
	_, c := e.container(o.Container)
	text, ok := strings.CutPrefix(o.Message, "Error: ")
	if c == nil || !ok || isImageFailure(text) {
		return
	}
	keepEarliest(e, &c.refusedAt, firstOccurrence(o), 1)
	e.keepRefusal(c, text)
	e.keepRefusalCause(c, IsConfigError(text), latestOccurrence(o).latest)
	e.keepMost(&c.refused, o)
}

// keepMost keeps the Event with the highest count. If several Events have the highest count, keepMost keeps the
// earliest Event.
func (e *Evidence) keepMost(known *refusals, o EventSeen) {
	r := refusals{firstOccurrence(o), latestOccurrence(o), o.Count}
	if later := cmp.Or(cmp.Compare(r.count, known.count), known.last.compare(r.last),
		known.first.compare(r.first)); later > 0 {
		*known, e.changed = r, true
	}
}

// keepRefusalCause records when the kubelet last refused a container. It keeps separate times for two kinds of
// refusals. The error of the first kind proves that the configuration is wrong, and the error of the second kind does
// not.
func (e *Evidence) keepRefusalCause(c *containerEvidence, config bool, by instant) {
	known := &c.otherRefusalAt
	if config {
		known = &c.misconfiguredAt
	}
	if by > *known {
		*known, e.changed = by, true
	}
}

// isMisconfigured reports whether the latest known refusal of a container proves that the container's configuration is
// wrong.
func (c *containerEvidence) isMisconfigured() bool {
	return c.misconfiguredAt != 0 && c.misconfiguredAt > c.otherRefusalAt
}

// imageFailures lists the kubelet's errors about a container's image (pkg/kubelet/images/types.go and cri-api's
// pkg/errors in Kubernetes). After one of these errors, the kubelet does not create the container.
var imageFailures = []string{
	"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "InvalidImageName", "RegistryUnavailable",
	"SignatureValidationFailed",
}

// isImageFailure reports whether the error in an Event is about a container's image. The error ErrImageNeverPull counts
// as a failure to create the container, because the pull policy forbids the pull.
func isImageFailure(text string) bool {
	return slices.ContainsFunc(imageFailures, func(failure string) bool {
		rest, ok := strings.CutPrefix(text, failure)
		return ok && (rest == "" || rest[0] == ':')
	})
}

// keepRefusal records the first error from the Events about failures to create a container. If a later Event contains a
// different error, keepRefusal records that the errors differ.
func (e *Evidence) keepRefusal(c *containerEvidence, text string) {
	switch hash := textHash(text); {
	case c.refusal == 0:
		c.refusal, e.changed = hash, true
	case c.refusal != hash && !c.refusalsDiffer:
		c.refusalsDiffer, e.changed = true, true
	}
}

// alsoNotConfig lists the phases to which a container's wait after a refusal can belong. The list applies only if the
// error does not prove that the configuration is wrong.
var alsoNotConfig = []Phase{
	PhaseContainerConfig, PhaseAPIServer, PhaseVolumes, PhaseDevice, PhaseContainerCreate, PhaseKubeletSync,
}

// isUndatedRefusal reports whether the time of a refusal is unknown. The time is unknown if the first report of the
// refusal did not come live from the watch, for example because it came from a list of pods.
func (e *Evidence) isUndatedRefusal(k milestoneKey) bool {
	c, found := findArrival(e.constraints, k)
	return found && c.bias == biasNone
}

// isRefusal reports whether the milestone means that the kubelet failed to create a container or to check its image.
func isRefusal(m Milestone) bool {
	switch m {
	case MilestoneConfigRefused, MilestoneCreateFailed, MilestoneNameRefused, MilestoneInspectFailed:
		return true
	}
	return false
}

// createFailureUndated reports whether the time of a failure to create a container is unknown. The time is unknown if
// the first report of the failure did not come live from the watch, for example because it came from a list of pods.
func (e *Evidence) createFailureUndated(index int16) bool {
	return e.isUndatedRefusal(milestoneKey{index, 0, MilestoneConfigRefused}) ||
		e.isUndatedRefusal(milestoneKey{index, 0, MilestoneCreateFailed})
}

// requestsRefusalEvents reports whether the timeline needs the kubelet's Events about failures to create a container.
// While the kubelet refuses a container, only the Events show that the kubelet tries again. If the agent does not know
// the time of the first refusal, only the Events can show this time. One short watch is enough to get this time,
// because a watch first delivers the Events that the API server still has.
func (e *Evidence) requestsRefusalEvents() bool {
	for i := range e.containers {
		if c := e.specOf(int16(i)); c != nil && c.State == StateWaiting && c.Kind != KindEphemeral {
			_, config := createFailureMilestones[c.WaitingReason]
			_, image := imageMilestones[c.WaitingReason]
			if config || image {
				return true
			}
		}
		if e.watchFirstOpened.IsZero() && e.createFailureUndated(int16(i)) {
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

// refusedAt returns the time when the kubelet first refused a container, according to the Events. If the Events report
// different errors, the time is unknown, because the pod's status reports only one of these errors. If the Event might
// be about a later attempt, the time is also unknown.
func (f *fold) refusedAt(index int16) (at window, known bool) {
	c := &f.e.containers[index]
	if len(c.refusedAt) == 0 || c.refusalsDiffer {
		return window{}, false
	}
	at = c.refusedAt[0]
	if !f.e.mayMissFirstEvents() {
		return at, true
	}
	if pulled := f.pulls[index].pulled; pulled.known() {
		return at, mustBeOfAttempt(pulled.earliest, at)
	}
	return at, f.isFirstAttempt(index, at)
}

// isFirstAttempt reports whether an Event is certainly about the kubelet's first attempt to create a container. The
// result is true if the kubelet certainly began its work on the container shortly before the Event. The kubelet begins
// this work shortly after one of these steps: the creation, scheduling or pickup of the pod, the start of the first
// sandbox, the start of an earlier container, or the end of an init container. If the pod had a second sandbox, the
// starts and ends of other containers do not count. In all other cases, the result is false, because the Event about
// the first attempt might have expired.
func (f *fold) isFirstAttempt(index int16, event window) bool {
	c := f.e.specOf(index)
	if c == nil {
		return false
	}
	sandboxes := f.e.lastSandbox()
	return slices.ContainsFunc(f.e.constraints, func(k constraint) bool {
		if k.key.container == podWide {
			switch k.key.milestone {
			case MilestoneCreated, MilestoneScheduled, MilestoneAcknowledged:
				return mustBeOfAttempt(k.earliest, event)
			}
			return k.key == milestoneKey{podWide, 0, MilestoneSandboxRunning} && mustBeOfAttempt(k.earliest, event)
		}
		before := f.e.predecessor(f.e.containers[k.key.container].name, c)
		switch {
		case before == nil || sandboxes > 0:
			return false
		case before.Kind == KindInit:
			return k.key.milestone == MilestoneFinished && mustBeOfAttempt(k.earliest, event)
		}
		return k.key.milestone == MilestoneRunning && k.key.attempt == 0 && !f.e.createFailed(k.key.container) &&
			mustBeOfAttempt(k.earliest, event)
	})
}

// lastSandbox returns the highest attempt number of the known sandboxes, or 0 if no sandbox is known.
func (e *Evidence) lastSandbox() (attempt uint16) {
	for _, c := range e.constraints {
		if c.key.container == podWide && c.key.milestone == MilestoneSandboxRunning {
			attempt = max(attempt, c.key.attempt)
		}
	}
	return attempt
}

// missedAttempts lists the phases in which earlier attempts to create a container might have spent time. The list
// applies if the agent missed the Events about these attempts.
var missedAttempts = []Phase{
	PhaseContainerConfig, PhasePullQueue, PhasePull, PhaseImageBackoff, PhaseContainerCreate,
}

// withMissedAttempts returns a container's first step. If the agent might have missed the first attempts to create the
// container, withMissedAttempts adds missedAttempts to the possible phases of the step. Earlier Events can be missing
// if the agent first saw the pod in a list. Earlier Events can also be missing if no Event watch covered the time since
// the kubelet picked up the pod.
func (f *fold) withMissedAttempts(index int16, s step) step {
	first, known := f.firstWork(index, s.key)
	switch {
	case known && (!f.e.mayMissFirstEvents() || f.isFirstAttempt(index, first)):
		return s
	case !known && f.e.firstSeen.live && !f.e.mayMissFirstEvents():
		return s
	}
	s.also = uniquePhases(s.also, missedAttempts)
	return s
}

// firstWork looks for the earliest known milestone of the kubelet's work on a container, and returns its interval.
// firstWork compares the milestone k, the first refusals, the first creation and the first start.
func (f *fold) firstWork(index int16, k milestoneKey) (first window, known bool) {
	first.latest = maxInstant
	for _, k := range [...]milestoneKey{
		k, {index, 0, MilestoneConfigRefused}, {index, 0, MilestoneCreateFailed}, {index, 0, MilestoneContainerCreated},
		{index, 0, MilestoneRunning},
	} {
		if b := f.bounds.find(k); b != nil && b.latest < first.latest {
			first, known = window{earliest: b.earliest, latest: b.latest}, true
		}
	}
	return first, known
}

// mustBeOfAttempt reports whether an Event certainly belongs to the attempt that began at a given time. The Event must
// come less than podRetryLeast after the given time. Within podRetryLeast, the kubelet cannot have tried again.
func mustBeOfAttempt(begun instant, event window) bool {
	return begun <= event.latest && event.earliest-instant(podRetryLeast) < begun
}

// refusalConstraints returns constraints on the time of a container's first refusal, from the Event that refusedAt
// finds. It returns no constraint in three cases: isUndatedRefusal returns false, refusedAt finds no time, or this time
// is later than the first report of the refusal.
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

// createFailureConstraints returns constraints on the time of the first failure to create a container. It uses the time
// of the Pulled Event, because the kubelet creates the container immediately after it pulls or finds the image
// (startContainer in pkg/kubelet/kuberuntime). The kubelet reports the failure in the pod's status only when it
// processes the pod again. By then, the cause of the failure can already be gone. If the status arrives later than the
// kubelet's next retry, createFailureConstraints ignores the Pulled Event. Such a delay means that the kubelet was
// stopped or lacked CPU.
func (f *fold) createFailureConstraints(index int16) (constraints []constraint) {
	constraints = f.refusalConstraints(index)
	pulled := f.pulls[index].pulled
	if !pulled.known() || pulled.present && pulled.origin != originEventName {
		return constraints
	}
	by := pulled.latest + eventSlack
	key := milestoneKey{index, 0, MilestoneConfigRefused}
	if latest, known := f.e.latestTime(key); known && by < latest && latest-by <= instant(podRetry+retrySlack) {
		constraints = append(constraints, constraint{key, originEventDuration, biasEarliest, pulled.earliest, by})
	}
	return constraints
}
