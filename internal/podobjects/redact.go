package podobjects

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/redact"
)

// lastApplied is an annotation. The command `kubectl apply` stores the user's whole object in it, including secrets.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// redactedCopy copies a pod without the fields in which people sometimes put secrets. References to Secrets stay,
// because these references are only names.
func redactedCopy(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.ManagedFields = nil
	delete(pod.Annotations, lastApplied)
	for key := range pod.Annotations {
		if !ofKubernetes(key) {
			pod.Annotations[key] = redact.Marker
		}
	}
	for i := range pod.Spec.InitContainers {
		redactContainer(&pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		redactContainer(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.EphemeralContainers {
		c := corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		redactContainer(&c)
		pod.Spec.EphemeralContainers[i].EphemeralContainerCommon = corev1.EphemeralContainerCommon(c)
	}
	for i := range pod.Spec.Volumes {
		if git := pod.Spec.Volumes[i].GitRepo; git != nil {
			hide(&git.Repository) // this argument of git can contain a password, for example in a URL
		}
		if image := pod.Spec.Volumes[i].Image; image != nil {
			hideWithin(&image.Reference)
		}
		if csi := pod.Spec.Volumes[i].CSI; csi != nil {
			redactValues(csi.VolumeAttributes)
		}
		if flex := pod.Spec.Volumes[i].FlexVolume; flex != nil {
			redactValues(flex.Options)
		}
		if ephemeral := pod.Spec.Volumes[i].Ephemeral; ephemeral != nil && ephemeral.VolumeClaimTemplate != nil {
			redactValues(ephemeral.VolumeClaimTemplate.Annotations)
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses,
		pod.Status.EphemeralContainerStatuses} {
		for i := range statuses {
			redactState(&statuses[i].State)
			redactState(&statuses[i].LastTerminationState)
			hideWithin(&statuses[i].Image)
		}
	}
	hideWithin(&pod.Status.Message)
	for i := range pod.Status.Conditions {
		hideWithin(&pod.Status.Conditions[i].Message)
	}
	return pod
}

// ofKubernetes reports whether an annotation belongs to Kubernetes. The key of such an annotation starts with the
// domain kubernetes.io or k8s.io, or with a subdomain.
func ofKubernetes(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	for _, own := range []string{"kubernetes.io", "k8s.io"} {
		if ok && (domain == own || strings.HasSuffix(domain, "."+own)) {
			return true
		}
	}
	return false
}

func redactContainer(c *corev1.Container) {
	hideWithin(&c.Image)
	redactAll(c.Command)
	redactAll(c.Args)
	for i := range c.Env {
		hide(&c.Env[i].Value)
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe != nil {
			redactHandler(probe.Exec, probe.HTTPGet)
		}
	}
	if c.Lifecycle == nil {
		return
	}
	for _, hook := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
		if hook != nil {
			redactHandler(hook.Exec, hook.HTTPGet)
		}
	}
}

func redactHandler(exec *corev1.ExecAction, get *corev1.HTTPGetAction) {
	if exec != nil {
		redactAll(exec.Command)
	}
	if get == nil {
		return
	}
	for i := range get.HTTPHeaders {
		hide(&get.HTTPHeaders[i].Value)
	}
	if path, _, ok := strings.Cut(get.Path, "?"); ok {
		get.Path = path + "?" + redact.Marker
	}
}

// redactState replaces the termination message with redact.Marker, because the container itself writes this message
// (terminationMessagePath). redactState also removes credentials from the message of a waiting container.
func redactState(s *corev1.ContainerState) {
	if s.Terminated != nil {
		hide(&s.Terminated.Message)
	}
	if s.Waiting != nil {
		hideWithin(&s.Waiting.Message)
	}
}

func redactAll(texts []string) {
	for i := range texts {
		texts[i] = redact.Marker
	}
}

func redactValues(texts map[string]string) {
	for key := range texts {
		texts[key] = redact.Marker
	}
}

// hide replaces a text with redact.Marker. hide keeps an empty text, because an absent value is not secret.
func hide(text *string) {
	if *text != "" {
		*text = redact.Marker
	}
}

// hideWithin removes credentials from a status message or from an image reference.
func hideWithin(text *string) { *text = redact.Text(*text) }
