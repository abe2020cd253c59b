package timeline

import (
	"cmp"
	"strings"
)

// notConfigTexts are the kubelet's messages about a container that it cannot create although its configuration is
// correct: the kubelet does not have the objects from the API server yet, or a volume is not as it should be
// (pkg/kubelet/{configmap,secret,volumemanager}, kubelet_pods.go).
var notConfigTexts = []string{
	"failed to sync configmap cache", "failed to sync secret cache", "services have not yet been read at least once",
	"failed to prepare subPath for volumeMount", "cannot find volume",
}

// applyCreateFailure records when the kubelet last could not create a container, and whether that had a reason other
// than the container's configuration.
func (e *Evidence) applyCreateFailure(o EventSeen) {
	if o.Reason != "Failed" || o.Container == "" {
		return
	}
	_, c := e.container(o.Container)
	if c != nil && strings.HasPrefix(o.Message, "Error: ") && o.Message != "Error: ErrImagePull" &&
		o.Message != "Error: ImagePullBackOff" {
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

// alsoNotConfig returns what a container may wait for in addition to its configuration.
var alsoNotConfig = []Phase{PhaseContainerConfig, PhaseAPIServer, PhaseVolumes, PhaseKubeletSync}

// createFailureConstraints dates the first failure to create a container by the container's image. The kubelet tries
// right after it got or found the image (pkg/kubelet/kuberuntime, startContainer), but reports the failure in the pod's
// status only when it comes back to the pod, possibly after the reason is gone. If the status is later than that, the
// kubelet was stopped or starved.
func (f *fold) createFailureConstraints(index int16) (constraints []constraint) {
	pulled := f.pulls[index].pulled
	if !pulled.known() || pulled.present && pulled.origin != originEventName {
		return nil
	}
	by := pulled.latest + eventSlack
	key := milestoneKey{index, 0, MilestoneConfigRefused}
	if latest, known := f.e.latest(key); known && by < latest && latest-by <= instant(podRetry+retrySlack) {
		constraints = append(constraints, constraint{key, originEventDuration, leanEarliest, pulled.earliest, by})
	}
	return constraints
}
