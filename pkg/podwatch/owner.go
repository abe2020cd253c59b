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

// podTemplateHash is the label in which a Deployment repeats the suffix of its ReplicaSet's name.
const podTemplateHash = "pod-template-hash"

// controllerRevisionHash is the label in which StatefulSets and DaemonSets name the revision of a
// pod.
const controllerRevisionHash = "controller-revision-hash"

// maxJobAge limits the time from the schedule in a Job's name to the creation of its pod, if a CronJob made that name.
// It excludes names that end in a date, such as backup-20260817.
const maxJobAge = 30 * 24 * time.Hour

// OwnerOf returns a pod's controller, or that controller's own controller if the names prove it. It relies on names
// because the agent does not read ReplicaSets and Jobs.
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

// convertController converts the owner that the object names; nil if it names none.
func convertController(controller *metav1.OwnerReference) timeline.Owner {
	if controller == nil {
		return timeline.Owner{}
	}
	return timeline.Owner{Kind: untrusted.Name(controller.Kind), Name: untrusted.Name(controller.Name)}
}

// revision identifies the version of its owner that created the pod. The pods of one rollout share
// it.
func revision(pod *corev1.Pod) string {
	controller := metav1.GetControllerOfNoCopy(pod)
	if controller == nil {
		return ""
	}
	if controller.Kind == "Job" {
		if _, ok := cronJobName(controller.Name, pod.CreationTimestamp.Time); ok {
			return untrusted.Name(controller.Name)
		}
		return "" // a Job has one revision
	}
	return cmp.Or(pod.Labels[podTemplateHash], pod.Labels[controllerRevisionHash])
}

// cronJobName removes the scheduled time in Unix minutes that a CronJob appends to its Jobs' names.
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
