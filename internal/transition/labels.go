package transition

import (
	"strings"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func labelsOf(t timeline.Timeline) Labels {
	l := Labels{
		Namespace:     t.Namespace,
		PodName:       t.Name,
		Node:          t.Node,
		PriorityClass: t.Traits.PriorityClass,
		RuntimeClass:  t.Traits.RuntimeClass,
		OwnerKind:     strings.ToLower(t.Traits.Controller.Kind),
		OwnerName:     t.Traits.Controller.Name,
		AppComponent:  t.Traits.App.Component,
		AppInstance:   t.Traits.App.Instance,
		AppManagedBy:  t.Traits.App.ManagedBy,
		AppName:       t.Traits.App.Name,
		AppPartOf:     t.Traits.App.PartOf,
		AppVersion:    t.Traits.App.Version,
	}
	switch t.Traits.QOSClass {
	case "Guaranteed", "Burstable", "BestEffort": // the schema allows only these values
		l.QOS = t.Traits.QOSClass
	}
	l.setOwner(t.Traits.Controller)
	// t.Owner is the owner of the pod's controller. If the controller has no owner, t.Owner is the controller itself.
	l.setOwner(t.Owner)
	return l
}

// setOwner stores the owner's name in the label for the owner's kind. For example, a Deployment sets kube_deployment.
func (l *Labels) setOwner(owner timeline.Owner) {
	switch owner.Kind {
	case "CronJob":
		l.CronJob = owner.Name
	case "DaemonSet":
		l.DaemonSet = owner.Name
	case "Deployment":
		l.Deployment = owner.Name
	case "Job":
		l.Job = owner.Name
	case "ReplicaSet":
		l.ReplicaSet = owner.Name
	case "StatefulSet":
		l.StatefulSet = owner.Name
	}
}
