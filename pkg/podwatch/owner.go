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

// The name of a CronJob's Job ends with the scheduled time of the Job. maxJobAge is the maximum time from this
// scheduled time to the creation of the Job's pod. The names of other Jobs can also end with a number. Because of
// maxJobAge, OwnerOf rarely mistakes such a number for a scheduled time. A Job can create a pod long after the
// scheduled time, for example because an earlier pod failed. If the pod was created maxJobAge or more after the
// scheduled time, OwnerOf returns the Job instead of the CronJob.
const maxJobAge = 24 * time.Hour

// maxCronJobName is the maximum length of a CronJob's name. The API server refuses longer names.
const maxCronJobName = 52

// OwnerOf returns a pod's controller. For a pod of a ReplicaSet, OwnerOf returns the Deployment if the ReplicaSet's
// name ends with the value of the pod's label pod-template-hash. For a pod of a Job, OwnerOf returns the CronJob if the
// Job's name ends with a scheduled time. OwnerOf uses names because the agent does not read ReplicaSets and Jobs. A
// scheduled time in a Job's name does not prove that a CronJob created the Job, because a user can give such a name to
// any Job. Only the Job's annotations and owner references name the CronJob. The CronJob controller does not copy these
// annotations and owner references to the pod.
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
		if name, ok := cronJobName(controller, pod.CreationTimestamp.Time); ok {
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

// ownerRevision returns the revision of the pod's owner. For a pod of a CronJob, the revision is the name of the Job.
// For other pods, the revision is the value of a label, or empty. The pods of one rollout have the same revision.
func ownerRevision(pod *corev1.Pod) string {
	controller := metav1.GetControllerOfNoCopy(pod)
	if controller == nil {
		return ""
	}
	if controller.Kind == "Job" {
		if _, ok := cronJobName(controller, pod.CreationTimestamp.Time); ok {
			return untrusted.Name(controller.Name)
		}
		return "" // a Job has only one revision
	}
	return cmp.Or(pod.Labels[podTemplateHash], pod.Labels[controllerRevisionHash])
}

// cronJobName removes the scheduled time from a Job's name. The CronJob controller appends the scheduled time, in Unix
// minutes, to the names of its Jobs. The result is false if the name does not end with a scheduled time. The result is
// also false if the pod was created maxJobAge or more after the scheduled time, or one minute or more before the
// scheduled time.
func cronJobName(job *metav1.OwnerReference, podCreatedAt time.Time) (string, bool) {
	i := strings.LastIndexByte(job.Name, '-')
	if !strings.HasPrefix(job.APIVersion, "batch/") || i <= 0 || i > maxCronJobName {
		return "", false
	}
	suffix := job.Name[i+1:]
	minutes, err := strconv.ParseUint(suffix, 10, 32)
	if err != nil || suffix[0] == '0' {
		return "", false
	}
	age := podCreatedAt.Sub(time.Unix(int64(minutes)*60, 0))
	return job.Name[:i], age > -time.Minute && age < maxJobAge
}
