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

// createFailureConstraints dates the first failure to create a container by the time when the container's image was
// present. The kubelet creates the container immediately after it pulls or finds the image (startContainer in
// pkg/kubelet/kuberuntime). The kubelet reports the failure in the pod's status only when it processes the pod again.
// By then, the reason for the failure can be gone. If the status arrives later than the kubelet's next retry, the
// kubelet was stopped or lacked CPU. Then the time when the image was present does not show the time of the failure.
func (f *fold) createFailureConstraints(index int16) (constraints []constraint) {
	pulled := f.pulls[index].pulled
	if !pulled.known() || pulled.present && pulled.origin != originEventName {
		return nil
	}
	by := pulled.latest + eventSlack
	key := milestoneKey{index, 0, MilestoneConfigRefused}
	if latest, known := f.e.latestTime(key); known && by < latest && latest-by <= instant(podRetry+retrySlack) {
		constraints = append(constraints, constraint{key, originEventDuration, leanEarliest, pulled.earliest, by})
	}
	return constraints
}
