package node

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/pkg/podwatch"
)

// Addon names an add-on. Empty is what nothing tells.
type Addon struct {
	Name, Version string
	Controller    string // Deployment, DaemonSet, StatefulSet, Node of a static pod, …
}

// unnamed is the add-on of pods that neither a label nor a controller names.
const unnamed = "unnamed"

// GKE names its components, and the versions of them, in annotations (gke-prober goes by these alone).
const (
	componentName    = "components.gke.io/component-name"
	componentVersion = "components.gke.io/component-version"
)

// addonOf goes by what names a component for itself, then by Kubernetes' recommended labels, then
// by what add-ons had before those: k8s-app, and component of kubeadm's static pods.
func addonOf(pod *corev1.Pod) Addon {
	owner := podwatch.OwnerOf(pod)
	if owner.Kind == "Node" {
		owner.Name = "" // of a static pod's mirror
	}
	return Addon{
		Name: text(cmp.Or(pod.Annotations[componentName], pod.Labels["app.kubernetes.io/name"], pod.Labels["k8s-app"],
			pod.Labels["component"], owner.Name, unnamed)),
		Version: text(cmp.Or(pod.Annotations[componentVersion], pod.Labels["app.kubernetes.io/version"],
			pod.Labels["version"])),
		Controller: text(owner.Kind),
	}
}
