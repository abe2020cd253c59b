package podwatch

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// appLabel is the prefix of Kubernetes' recommended labels
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels).
const appLabel = "app.kubernetes.io/"

// convertTraits returns the pod's controller, its recommended labels, and its QoS, priority and runtime classes.
func convertTraits(pod *corev1.Pod) *timeline.Traits {
	traits := &timeline.Traits{
		Controller:    convertController(metav1.GetControllerOfNoCopy(pod)),
		QOSClass:      string(pod.Status.QOSClass),
		PriorityClass: pod.Spec.PriorityClassName,
		App: timeline.AppLabels{
			Component: pod.Labels[appLabel+"component"],
			Instance:  pod.Labels[appLabel+"instance"],
			ManagedBy: pod.Labels[appLabel+"managed-by"],
			Name:      pod.Labels[appLabel+"name"],
			PartOf:    pod.Labels[appLabel+"part-of"],
			Version:   pod.Labels[appLabel+"version"],
		},
	}
	if class := pod.Spec.RuntimeClassName; class != nil {
		traits.RuntimeClass = *class
	}
	return traits
}
