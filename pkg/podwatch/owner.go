package podwatch

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// podTemplateHash is a label that a Deployment sets on its pods. The label's value is the suffix of the ReplicaSet's
// name.
const podTemplateHash = "pod-template-hash"

// controllerRevisionHash is a label that StatefulSets and DaemonSets set on their pods. The label's value names the
// revision.
const controllerRevisionHash = "controller-revision-hash"

// maxJobAge is the maximum time between the scheduled time of a CronJob's Job and the creation of the pod. The Job's
// name contains the scheduled time. The limit excludes names that end in a date, such as backup-20260817.
const maxJobAge = 30 * 24 * time.Hour

// OwnerOf returns a pod's controller. For a pod of a ReplicaSet or Job, OwnerOf returns the Deployment or CronJob if
// the names prove this owner. OwnerOf uses names because the agent does not read ReplicaSets and Jobs.
func OwnerOf(pod *corev1.Pod) timeline.Owner {
	controller := metav1.GetControllerOfNoCopy(pod)
	if controller == nil {
		return timeline.Owner{}
	}
	switch controller.Kind {
	case "ReplicaSet":
		if hash := pod.Labels[podTemplateHash]; hash != "" {
			if name, ok := strings.CutSuffix(controller.Name, "-"+hash); ok && name != "" {
				return timeline.Owner{Kind: "Deployment", Name: untrusted.Name(name)}
			}
		}
	case "Job":
		if name, ok := cronJobName(controller.Name, pod.CreationTimestamp.Time); ok {
			return timeline.Owner{Kind: "CronJob", Name: untrusted.Name(name)}
		}
	}
	return convertController(controller)
}

// convertController converts an owner reference. If the reference is nil, the result is the zero Owner.
func convertController(controller *metav1.OwnerReference) timeline.Owner {
	if controller == nil {
		return timeline.Owner{}
	}
	return timeline.Owner{Kind: untrusted.Name(controller.Kind), Name: untrusted.Name(controller.Name)}
}

// ownerRevision returns the label value or the Job name that identifies the revision of the pod's owner. The pods of
// one rollout have the same revision.
func ownerRevision(pod *corev1.Pod) string {
	controller := metav1.GetControllerOfNoCopy(pod)
	if controller == nil {
		return ""
	}
	if controller.Kind == "Job" {
		if _, ok := cronJobName(controller.Name, pod.CreationTimestamp.Time); ok {
			return untrusted.Name(controller.Name)
		}
		return "" // a Job has only one revision
	}
	return cmp.Or(pod.Labels[podTemplateHash], pod.Labels[controllerRevisionHash])
}

// cronJobName removes the scheduled time from a Job's name. A CronJob appends the scheduled time, in Unix minutes, to
// the names of its Jobs.
func cronJobName(job string, podCreatedAt time.Time) (string, bool) {
	i := strings.LastIndexByte(job, '-')
	if i <= 0 || len(job)-i-1 < 8 {
		return "", false
	}
	minutes, err := strconv.ParseUint(job[i+1:], 10, 32)
	if err != nil {
		return "", false
	}
	age := podCreatedAt.Sub(time.Unix(int64(minutes)*60, 0))
	return job[:i], age > -time.Minute && age < maxJobAge
}
