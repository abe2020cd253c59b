package timeline

// Traits holds facts in a pod object that do not concern its start-up, but by which readers of records group. Empty
// fields are absent in the object.
type Traits struct {
	// Controller is the owner in the object itself: the ReplicaSet if Pod.Owner is its Deployment.
	Controller    Owner     `json:"controller,omitzero"`
	QOSClass      string    `json:"qos_class,omitzero"` // Guaranteed, Burstable or BestEffort
	PriorityClass string    `json:"priority_class,omitzero"`
	RuntimeClass  string    `json:"runtime_class,omitzero"`
	App           AppLabels `json:"app,omitzero"`
}

// AppLabels are the values of Kubernetes' recommended labels, app.kubernetes.io/…; other labels are not kept.
type AppLabels struct {
	Component string `json:"component,omitzero"`
	Instance  string `json:"instance,omitzero"`
	ManagedBy string `json:"managed_by,omitzero"`
	Name      string `json:"name,omitzero"`
	PartOf    string `json:"part_of,omitzero"`
	Version   string `json:"version,omitzero"`
}
