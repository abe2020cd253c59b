package timeline

import (
	"cmp"
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
	if c != nil && strings.HasPrefix(o.Message, "Error: ") && o.Message != "Error: ErrImagePull" &&
		o.Message != "Error: ImagePullBackOff" {
		keepEarliest(e, &c.refusedAt, firstOccurrence(o), 1)
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

// requestsRefusalEvents reports whether only the kubelet's Events can show when the kubelet first refused a container.
func (e *Evidence) requestsRefusalEvents() bool {
	if !e.watchFirstOpened.IsZero() {
		return false // the watch began with the Events that the API server still had
	}
	for i := range e.containers {
		for _, m := range [...]Milestone{MilestoneConfigRefused, MilestoneCreateFailed} {
			if e.isUndatedRefusal(milestoneKey{int16(i), 0, m}) {
				return true
			}
		}
	}
	return false
}

// isRefusalReported reports whether an Event shows when the kubelet first refused a container.
func (f *fold) isRefusalReported(k milestoneKey) bool {
	at := f.e.containers[k.container].refusedAt
	return k.attempt == 0 && len(at) > 0 && at[0].latest <= f.bounds.find(k).latest
}

// refusalConstraints dates the first refusal of a container by the Event about it, if only a list of the pods shows the
// refusal.
func (e *Evidence) refusalConstraints(index int16) (constraints []constraint) {
	at := e.containers[index].refusedAt
	for _, m := range [...]Milestone{MilestoneConfigRefused, MilestoneCreateFailed} {
		if k := (milestoneKey{index, 0, m}); len(at) > 0 && e.isUndatedRefusal(k) {
			if latest, _ := e.latestTime(k); at[0].latest <= latest {
				constraints = append(constraints, at[0].constraint(k))
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
	constraints = f.e.refusalConstraints(index)
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
