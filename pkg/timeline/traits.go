package timeline

// Traits is what a pod object says beside its start-up: what readers of records group by. Whatever is empty is absent
// in the object.
type Traits struct {
	// Controller is the owner that the object itself names: the ReplicaSet where Pod.Owner is its Deployment.
	Controller    Owner
	QOSClass      string // Guaranteed, Burstable or BestEffort
	PriorityClass string
	RuntimeClass  string
	App           AppLabels
}

// AppLabels are the values of Kubernetes' recommended labels, app.kubernetes.io/…; no other label is kept.
type AppLabels struct{ Component, Instance, ManagedBy, Name, PartOf, Version string }
