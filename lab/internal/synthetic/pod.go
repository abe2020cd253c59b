package synthetic

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// imageSize is the size of every image in bytes.
const imageSize = 12_345_678

func imageID(reference string) string {
	sum := sha256.Sum256([]byte(reference))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// pod is a synthetic pod: an object in the API server without processes.
type pod struct {
	namespace, name, uid, node string
	images                     []string // images of the containers, whose names are c1, c2, and so on
}

func containerName(i int) string { return fmt.Sprintf("c%d", i+1) }

func (p pod) labels(container string) map[string]string {
	labels := map[string]string{uidLabel: p.uid, podLabel: p.name, namespaceLabel: p.namespace}
	if container != "" {
		labels[containerLabel] = container
	}
	return labels
}

// PodSpec returns the specification of a pod on a synthetic node, with one container for each image. A pod with this
// specification disappears as soon as it is deleted, because the grace period is zero and no kubelet has to confirm the
// termination.
func PodSpec(node string, images []string) corev1.PodSpec {
	none := int64(0)
	spec := corev1.PodSpec{NodeName: node, TerminationGracePeriodSeconds: &none}
	for i, image := range images {
		spec.Containers = append(spec.Containers, corev1.Container{Name: containerName(i), Image: image})
	}
	return spec
}

// acknowledged returns the first status that a kubelet writes.
func (p pod) acknowledged(at time.Time) map[string]any {
	var containers []corev1.ContainerStatus
	for i, image := range p.images {
		containers = append(containers, corev1.ContainerStatus{Name: containerName(i), Image: image,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}})
	}
	return p.status(at, at, corev1.PodPending, corev1.ConditionFalse, containers)
}

// runningStatus returns the status of a ready pod whose containers are all running.
func (p pod) runningStatus(at, acknowledgedAt time.Time, startedAt []time.Time, ids []string) map[string]any {
	var containers []corev1.ContainerStatus
	started := true
	for i, image := range p.images {
		containers = append(containers, corev1.ContainerStatus{Name: containerName(i), Image: image,
			ImageID: imageID(image), Ready: true,
			Started: &started, ContainerID: "podlapse-lab://" + ids[i],
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{
				StartedAt: metav1.NewTime(startedAt[i])}}})
	}
	return p.status(at, acknowledgedAt, corev1.PodRunning, corev1.ConditionTrue, containers)
}

func (p pod) status(at, acknowledgedAt time.Time, phase corev1.PodPhase, ready corev1.ConditionStatus,
	containers []corev1.ContainerStatus) map[string]any {
	var conditions []corev1.PodCondition
	add := func(kind corev1.PodConditionType, status corev1.ConditionStatus, since time.Time) {
		conditions = append(conditions, corev1.PodCondition{Type: kind, Status: status,
			LastTransitionTime: metav1.NewTime(since)})
	}
	add(corev1.PodReadyToStartContainers, ready, at)
	add(corev1.PodInitialized, corev1.ConditionTrue, acknowledgedAt)
	add(corev1.PodReady, ready, at)
	add(corev1.ContainersReady, ready, at)
	add(corev1.PodScheduled, corev1.ConditionTrue, acknowledgedAt)
	return map[string]any{"status": map[string]any{"phase": phase, "startTime": metav1.NewTime(acknowledgedAt),
		"hostIP":     "127.0.0.1",
		"conditions": conditions, "containerStatuses": containers}}
}

// event returns an Event that looks like an Event of the kubelet. The name of the Event contains the time in
// nanoseconds. The timestamps of the Event are whole seconds.
func (p pod) event(container, reason, message string, at time.Time) corev1.Event {
	const component = "kubelet"
	return corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", p.name, at.UnixNano()), Namespace: p.namespace},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: p.namespace, Name: p.name, UID: types.UID(p.uid),
			APIVersion:      "v1",
			ResourceVersion: "1", FieldPath: "spec.containers{" + container + "}"},
		Reason: reason, Message: message, Source: corev1.EventSource{Component: component, Host: p.node},
		FirstTimestamp: metav1.NewTime(at), LastTimestamp: metav1.NewTime(at), Count: 1, Type: corev1.EventTypeNormal,
		ReportingController: component, ReportingInstance: p.node,
	}
}
