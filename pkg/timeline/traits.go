package timeline

// Traits is what readers of records group by: facts in a pod object that do not concern its start-up. Empty fields
// are absent in the object.
type Traits struct {
	// Controller is the owner in the object itself: the ReplicaSet if Pod.Owner is its Deployment.
	Controller    Owner
	QOSClass      string // Guaranteed, Burstable or BestEffort
	PriorityClass string
	RuntimeClass  string
	App           AppLabels
}

// AppLabels are the values of Kubernetes' recommended labels, app.kubernetes.io/…; other labels are not kept.
type AppLabels struct{ Component, Instance, ManagedBy, Name, PartOf, Version string }
