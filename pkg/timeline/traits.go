package timeline

// Traits holds facts from the pod object that podlapse does not use to compute the timeline. Programs that read records
// can group start-ups by these facts. A field is empty if the pod object does not contain the fact.
type Traits struct {
	// Controller is the pod's direct owner. For example, if Pod.Owner is a Deployment, Controller is the ReplicaSet.
	Controller    Owner     `json:"controller,omitzero"`
	QOSClass      string    `json:"qos_class,omitzero"` // Guaranteed, Burstable or BestEffort
	PriorityClass string    `json:"priority_class,omitzero"`
	RuntimeClass  string    `json:"runtime_class,omitzero"`
	App           AppLabels `json:"app,omitzero"`
}

// AppLabels holds the values of Kubernetes' recommended labels, app.kubernetes.io/…. AppLabels contains no other
// labels.
type AppLabels struct {
	Component string `json:"component,omitzero"`
	Instance  string `json:"instance,omitzero"`
	ManagedBy string `json:"managed_by,omitzero"`
	Name      string `json:"name,omitzero"`
	PartOf    string `json:"part_of,omitzero"`
	Version   string `json:"version,omitzero"`
}
