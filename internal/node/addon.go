package node

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/pkg/podwatch"
)

// Addon identifies an add-on. If a value is unknown, its field is empty.
type Addon struct {
	Name, Version string
	Controller    string // kind of the pods' owner, for example Deployment; "Node" for a static pod
}

// unnamedAddon is the name of an add-on if no annotation, label or owner provides a name.
const unnamedAddon = "unnamed"

// GKE writes the names and versions of its components into the annotations componentName and componentVersion. To
// identify a component, GKE's own gke-prober reads only componentName and componentVersion.
const (
	componentName    = "components.gke.io/component-name"
	componentVersion = "components.gke.io/component-version"
)

// addonOf returns the add-on of a pod. The add-on's name comes from the first existing source in this list: GKE's
// annotation, the label "app.kubernetes.io/name", the label "k8s-app", the label "component", the owner. For kubeadm's
// static pods, only the label "component" provides a name.
func addonOf(pod *corev1.Pod) Addon {
	owner := podwatch.OwnerOf(pod)
	if owner.Kind == "Node" {
		owner.Name = "" // the owner of a static pod is its node, not an add-on
	}
	return Addon{
		Name: text(cmp.Or(pod.Annotations[componentName], pod.Labels["app.kubernetes.io/name"], pod.Labels["k8s-app"],
			pod.Labels["component"], owner.Name, unnamedAddon)),
		Version: text(cmp.Or(pod.Annotations[componentVersion], pod.Labels["app.kubernetes.io/version"],
			pod.Labels["version"])),
		Controller: text(owner.Kind),
	}
}
