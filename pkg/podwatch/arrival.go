package podwatch

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxAnnotation, maxAnnotations and maxApplied limit the size of the pod objects that the Follower receives. The first
// two limits are in bytes. The annotations of podlapse and of add-ons take several hundred bytes in total.
const (
	maxAnnotation  = 4 << 10
	maxAnnotations = 16 << 10
	maxApplied     = 16 // maximum number of entries in managedFields
)

// maxContainers is the maximum number of containers of a pod. Each image volume counts as a container. A normal pod has
// about ten containers. An object of 1.4 MB, which is near etcd's limit, can contain more than 20,000 containers. In
// memory, each container needs several times its encoded size.
const maxContainers = 256

// arrival holds the parts of a pod object that the agent keeps. The agent creates an arrival immediately after it has
// decoded an object. Without the type arrival, the agent would hold all objects of a list in memory: several hundred
// objects of up to 1.4 MB each. arrival implements runtime.Object, because the reflector requires this interface.
type arrival struct {
	*corev1.Pod // only the parts that slimCopy copies
	converted   timeline.Pod
	keep        func() // stores the packed object in the Keeper
	packing     error  // error from Keeper.Pack
	containers  int
}

// arrive converts a pod object to an arrival. The arrival does not refer to the object, so the object does not stay in
// memory.
func (p *Pods) arrive(pod *corev1.Pod) *arrival {
	a := &arrival{Pod: slimCopy(pod), containers: countContainers(pod)}
	if a.containers > maxContainers {
		return a
	}
	a.converted = convertPod(pod)
	if !p.config.Traits {
		a.converted.Traits = nil
	}
	if p.config.Terminations {
		addDeletion(&a.converted, pod)
	}
	a.keep, a.packing = p.config.Keeper.Pack(pod, a.converted.Labels)
	return a
}

// arrivalOf returns an item from the reflector as an arrival. Items from a watch are pod objects. Items from a list are
// already arrivals.
func (p *Pods) arrivalOf(obj any) (*arrival, error) {
	switch obj := obj.(type) {
	case *arrival:
		return obj, nil
	case *corev1.Pod:
		return p.arrive(obj), nil
	}
	return nil, fmt.Errorf("unexpected object type %T", obj)
}

// Transformer implements cache.TransformingStore. If the first events of a watch replace a list, the reflector collects
// the objects of these events. Before the reflector stores an object, it calls the function that Transformer returns.
// The returned function converts the object to an arrival, so the reflector does not collect whole objects.
func (s *podStore) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return s.pods.arrivalOf(obj) }
}

func countContainers(pod *corev1.Pod) int {
	spec := &pod.Spec
	count := len(spec.InitContainers) + len(spec.Containers) + len(spec.EphemeralContainers)
	for i := range spec.Volumes {
		if spec.Volumes[i].Image != nil {
			count++
		}
	}
	return count
}

// slimCopy copies only the parts of a pod that the comment of the interface Follower lists. For example, the copy of a
// container status contains only the container's name, its restart count, and the reason and exit code of its last
// termination.
func slimCopy(pod *corev1.Pod) *corev1.Pod {
	copied := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
			DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
			Labels:                     copyWithinLimits(pod.Labels, untrusted.MaxName, maxLabels),
			Annotations:                copyWithinLimits(pod.Annotations, maxAnnotation, maxAnnotations),
		},
		Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status: corev1.PodStatus{
			Phase:                 pod.Status.Phase,
			InitContainerStatuses: slimStatuses(pod.Status.InitContainerStatuses),
			ContainerStatuses:     slimStatuses(pod.Status.ContainerStatuses),
		},
	}
	if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
		copied.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: untrusted.Name(controller.APIVersion), Kind: untrusted.Name(controller.Kind),
			Name: untrusted.Name(controller.Name), Controller: controller.Controller,
		}}
	}
	for _, entry := range pod.ManagedFields {
		if entry.Operation == metav1.ManagedFieldsOperationApply && entry.FieldsV1 != nil &&
			len(entry.FieldsV1.GetRawBytes()) <= maxAnnotation && len(copied.ManagedFields) < maxApplied {
			copied.ManagedFields = append(copied.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: untrusted.Name(entry.Manager), Operation: entry.Operation, FieldsV1: entry.FieldsV1,
			})
		}
	}
	for i := range pod.Spec.InitContainers[:min(len(pod.Spec.InitContainers), maxContainers)] {
		c := &pod.Spec.InitContainers[i]
		copied.Spec.InitContainers = append(copied.Spec.InitContainers,
			corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy})
	}
	for _, c := range pod.Status.Conditions[:min(len(pod.Status.Conditions), maxConditions)] {
		copied.Status.Conditions = append(copied.Status.Conditions, corev1.PodCondition{
			Type:   corev1.PodConditionType(untrusted.Name(string(c.Type))),
			Status: c.Status, LastTransitionTime: c.LastTransitionTime,
		})
	}
	return copied
}

// slimStatuses copies the restart count of each container, and the reason and exit code of the last termination.
func slimStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	copied := make([]corev1.ContainerStatus, 0, min(len(statuses), maxContainers))
	for i := range statuses[:cap(copied)] {
		status := corev1.ContainerStatus{Name: statuses[i].Name, RestartCount: statuses[i].RestartCount}
		if last := statuses[i].LastTerminationState.Terminated; last != nil {
			status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
				Reason: untrusted.Reason(last.Reason), ExitCode: last.ExitCode,
			}
		}
		copied = append(copied, status)
	}
	return copied
}

// copyWithinLimits copies labels or annotations. copyWithinLimits truncates each value that is longer than "each"
// bytes. If an entry would make the copy larger than "all" bytes, copyWithinLimits omits the entry.
func copyWithinLimits(texts map[string]string, each, all int) map[string]string {
	copied, size := map[string]string{}, 0
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		value := texts[key]
		if len(value) > each {
			value = strings.Clone(untrusted.Cut(value, each))
		}
		if size+len(key)+len(value) <= all {
			copied[key] = value
			size += len(key) + len(value)
		}
	}
	return copied
}
