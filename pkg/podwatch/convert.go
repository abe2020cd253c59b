package podwatch

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/redact"
	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// traceParentAnnotation is an annotation that adds the pod's start-up to an existing trace. The creator of the pod can
// set this annotation. The annotation has the format of the traceparent header (W3C Trace Context).
const traceParentAnnotation = "traceparent"

// Limits on the parts of a pod that the agent keeps. maxConditions is the maximum number of conditions. The other
// limits are in bytes. The agent truncates longer image references, and omits labels and conditions above the limit.
const (
	maxTraceParent = 128  // a traceparent of version 00 has 55 bytes; the agent ignores values above the limit
	maxReference   = 1024 // the longest repository, tag and digest together have about 500 bytes
	maxLabels      = 16 << 10
	maxConditions  = 64
)

// convertPod returns the part of a pod object that start-up timing needs. convertPod drops statuses of
// containers that the spec does not contain.
func convertPod(pod *corev1.Pod) timeline.Pod {
	converted := timeline.Pod{
		UID:            string(pod.UID),
		RuntimeUID:     string(pod.UID),
		Namespace:      pod.Namespace,
		Name:           pod.Name,
		Node:           pod.Spec.NodeName,
		Owner:          OwnerOf(pod),
		Traits:         convertTraits(pod),
		Revision:       ownerRevision(pod),
		Labels:         convertLabels(pod.Labels),
		CreatedAt:      untrusted.Time(pod.CreationTimestamp),
		DeletedAt:      DeletedAt(pod),
		Phase:          string(pod.Status.Phase),
		Reason:         untrusted.Reason(pod.Status.Reason),
		ReadinessGates: len(pod.Spec.ReadinessGates) > 0,
		Conditions:     convertConditions(pod.Status.Conditions),
		Generation:     pod.Generation,
		HostNetwork:    pod.Spec.HostNetwork,
		ResourceClaims: len(pod.Spec.ResourceClaims) > 0,
		VolumeClaims:   slices.ContainsFunc(pod.Spec.Volumes, isFromClaim),
		RemoteVolumes:  slices.ContainsFunc(pod.Spec.Volumes, isRemote),
		PullSecrets:    len(pod.Spec.ImagePullSecrets) > 0,
		FieldsManaged:  len(pod.ManagedFields) > 0,

		KubeletGeneration: pod.Status.ObservedGeneration,
		UnschedulableAt:   unschedulableAt(pod.ManagedFields),
		Containers:        convertContainers(pod),

		ScheduledByKubelet: scheduledByKubelet(pod.ManagedFields),
	}
	if uid := staticUID(pod); uid != "" {
		converted.RuntimeUID = uid
		converted.ReadAt = readAt(pod)
	}
	if parent := pod.Annotations[traceParentAnnotation]; len(parent) <= maxTraceParent {
		converted.TraceParent = strings.Clone(parent) // the clone lets the garbage collector free the object
	}
	if pod.Status.Phase == corev1.PodFailed {
		converted.FailedBy = latestStatusChange(pod.ManagedFields)
	}
	if pod.Status.StartTime != nil {
		converted.AcknowledgedAt = untrusted.Time(*pod.Status.StartTime)
	}
	return converted
}

// isFromClaim reports whether a PersistentVolumeClaim provides a volume. Kubernetes creates a claim for each generic
// ephemeral volume.
func isFromClaim(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }

// isRemote reports whether a volume needs a component other than the kubelet and the container runtime. The kubelet
// itself provides volumes with data from API objects (such as ConfigMaps), and volumes that are directories on the
// node. The runtime provides image volumes.
func isRemote(v corev1.Volume) bool {
	return v.EmptyDir == nil && v.ConfigMap == nil && v.Secret == nil && v.Projected == nil && v.DownwardAPI == nil &&
		v.HostPath == nil && v.Image == nil && v.VolumeSource != (corev1.VolumeSource{})
}

// convertLabels encodes labels as one string, because a map needs several times as much memory. If a label would make
// the string longer than maxLabels, convertLabels omits the label.
func convertLabels(labels map[string]string) string {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if text.Len()+len(key)+len(labels[key])+2 > maxLabels {
			continue
		}
		if text.Len() > 0 {
			text.WriteByte(',')
		}
		text.WriteString(key + "=" + labels[key])
	}
	return text.String()
}

// DeletedAt returns the time of the deletion request, or zero if there was no request. The pod's deletionTimestamp is
// the end of the grace period, so DeletedAt subtracts the grace period.
func DeletedAt(pod *corev1.Pod) time.Time {
	if pod.DeletionTimestamp == nil {
		return time.Time{}
	}
	at := untrusted.Time(*pod.DeletionTimestamp)
	if grace := pod.DeletionGracePeriodSeconds; grace != nil && !at.IsZero() {
		at = at.Add(-time.Duration(*grace) * time.Second)
	}
	return at
}

func convertConditions(conditions []corev1.PodCondition) []timeline.Condition {
	conditions = conditions[:min(len(conditions), maxConditions)] // a normal pod has fewer conditions than this limit
	converted := make([]timeline.Condition, 0, len(conditions))
	for _, c := range conditions {
		converted = append(converted, timeline.Condition{
			Type: untrusted.Name(string(c.Type)), True: c.Status == corev1.ConditionTrue,
			TransitionAt: untrusted.Time(c.LastTransitionTime),
		})
	}
	return converted
}

func convertContainers(pod *corev1.Pod) []timeline.Container {
	spec, status := &pod.Spec, &pod.Status
	converted := make([]timeline.Container, 0,
		len(spec.InitContainers)+len(spec.Containers)+len(spec.EphemeralContainers))
	converted = append(converted, convertImageVolumes(spec.Volumes)...)
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		converted = append(converted,
			convertContainer(c, kindOfInit(c), spec.RestartPolicy, status.InitContainerStatuses))
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		converted = append(converted,
			convertContainer(c, timeline.KindMain, spec.RestartPolicy, status.ContainerStatuses))
	}
	for i := range spec.EphemeralContainers {
		c := corev1.Container(spec.EphemeralContainers[i].EphemeralContainerCommon)
		statuses := status.EphemeralContainerStatuses // the kubelet never restarts an ephemeral container
		converted = append(converted, convertContainer(&c, timeline.KindEphemeral, corev1.RestartPolicyNever, statuses))
	}
	attributePullFailures(converted, status)
	if memoryLimited(spec.Resources) {
		for i := range converted {
			converted[i].MemoryLimited = converted[i].Kind != timeline.KindImageVolume
		}
	}
	return converted
}

func memoryLimited(resources *corev1.ResourceRequirements) bool {
	if resources == nil {
		return false
	}
	_, limited := resources.Limits[corev1.ResourceMemory]
	return limited
}

// kindOfInit distinguishes sidecars from init containers that must complete.
func kindOfInit(c *corev1.Container) timeline.ContainerKind {
	if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
		return timeline.KindSidecar
	}
	return timeline.KindInit
}

func convertContainer(
	c *corev1.Container, kind timeline.ContainerKind, restarts corev1.RestartPolicy, statuses []corev1.ContainerStatus,
) timeline.Container {
	if c.RestartPolicy != nil { // the container's policy overrides the pod's policy
		restarts = corev1.RestartPolicy(*c.RestartPolicy)
	}
	converted := timeline.Container{
		Name:           c.Name,
		Kind:           kind,
		Image:          untrusted.Text(redact.Text(c.Image), maxReference),
		PullPolicy:     timeline.PullPolicy(c.ImagePullPolicy),
		StartupProbe:   c.StartupProbe != nil,
		ReadinessProbe: c.ReadinessProbe != nil,
		PostStartHook:  c.Lifecycle != nil && c.Lifecycle.PostStart != nil,
		PreStopHook:    c.Lifecycle != nil && c.Lifecycle.PreStop != nil,
		LivenessProbe:  c.LivenessProbe != nil,
		MemoryLimited:  memoryLimited(&c.Resources),
		RestartsAlways: restarts == corev1.RestartPolicyAlways && kind != timeline.KindInit,
		RestartsNever:  restarts == corev1.RestartPolicyNever && len(c.RestartPolicyRules) == 0,

		StartupTiming:   probeTiming(c.StartupProbe),
		ReadinessTiming: probeTiming(c.ReadinessProbe),
	}
	for i := range statuses {
		if statuses[i].Name == c.Name {
			applyStatus(&converted, &statuses[i])
			break
		}
	}
	return converted
}

// probeTiming returns the zero value if the argument is nil. The API server validates that no value is negative.
func probeTiming(p *corev1.Probe) timeline.ProbeTiming {
	if p == nil {
		return timeline.ProbeTiming{}
	}
	seconds := func(n int32) time.Duration { return time.Duration(max(n, 0)) * time.Second }
	return timeline.ProbeTiming{
		InitialDelay: seconds(p.InitialDelaySeconds), Period: seconds(p.PeriodSeconds),
		Timeout: seconds(p.TimeoutSeconds), Successes: int(max(p.SuccessThreshold, 0)),
	}
}

// pullFailure returns the reason why the image of a waiting container could not be pulled. The kubelet's message
// contains the runtime's error. During back-off, only kubelet 1.31 and later include the error in the message.
func pullFailure(waiting *corev1.ContainerStateWaiting) imagepull.Failure {
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed":
		return imagepull.ClassifyFailure(waiting.Reason + ": " + untrusted.Message(waiting.Message))
	}
	return imagepull.FailureNone
}

func applyStatus(c *timeline.Container, status *corev1.ContainerStatus) {
	c.Attempt = int(status.RestartCount)
	c.Started = status.Started != nil && *status.Started
	c.Ready = status.Ready
	switch state := status.State; {
	case state.Running != nil:
		c.State = timeline.StateRunning
		c.StartedAt = untrusted.Time(state.Running.StartedAt)
	case state.Terminated != nil:
		c.State = timeline.StateTerminated
		c.StartedAt = untrusted.Time(state.Terminated.StartedAt)
		c.FinishedAt = untrusted.Time(state.Terminated.FinishedAt)
		c.ExitCode = int(state.Terminated.ExitCode)
		c.EndReason = untrusted.Reason(state.Terminated.Reason)
	case state.Waiting != nil:
		c.State = timeline.StateWaiting
		c.WaitingReason = untrusted.Reason(state.Waiting.Reason)
		c.PullFailure = pullFailure(state.Waiting)
		c.Misconfigured = c.WaitingReason == "ErrImageNeverPull" ||
			c.WaitingReason == "CreateContainerConfigError" && timeline.IsConfigError(state.Waiting.Message)
	}
	if last := status.LastTerminationState.Terminated; last != nil {
		c.LastRun = &timeline.Run{
			StartedAt:  untrusted.Time(last.StartedAt),
			FinishedAt: untrusted.Time(last.FinishedAt),
			ExitCode:   int(last.ExitCode),
			Reason:     untrusted.Reason(last.Reason),
		}
	}
}
