package api

// WhatIf identifies a change of a pod, of its node or of its surroundings.
type WhatIf string

// The changes whose effect the agent can predict.
const (
	WhatIfImages        WhatIf = "images_on_node"
	WhatIfSandboxImage  WhatIf = "sandbox_image_on_node"
	WhatIfNoCheck       WhatIf = "no_registry_check" // imagePullPolicy: IfNotPresent
	WhatIfParallelPulls WhatIf = "parallel_pulls"    // the kubelet's setting maxParallelImagePulls
	WhatIfVolumes       WhatIf = "volumes_ready"
	WhatIfConfig        WhatIf = "config_present"
	WhatIfNoCrash       WhatIf = "no_failed_runs"
	WhatIfSidecar       WhatIf = "init_as_sidecar"
	WhatIfReadiness     WhatIf = "readiness_period" // periodSeconds: 1
	WhatIfStartup       WhatIf = "startup_period"   // periodSeconds: 1
)

// WhatIfRecord is the predicted effect of one change on a start-up. The prediction is an interval.
type WhatIfRecord struct {
	Change     WhatIf `json:"change"`
	Container  string `json:"container,omitempty"` // absent if the change concerns the whole pod
	Text       string `json:"text"`                // the change in words for people; the wording can change
	Assumption string `json:"assumption"`          // the condition of the prediction, for people
	// TotalLeast and TotalMost are the ends of the interval of the start-up's duration after the change.
	TotalLeast Seconds `json:"total_least_seconds"`
	TotalMost  Seconds `json:"total_most_seconds"`
	// Gain is the estimate of the saved time: the length of the steps that the change removes, limited to the interval
	// of GainLeast and GainMost. Gain is absent if chance decides whether the change saves time.
	Gain Seconds `json:"gain_seconds,omitempty"`
	// GainLeast and GainMost are the ends of the interval of the saved time. GainLeast is negative if the start-up can
	// also take longer, for example because a probe happens at another moment.
	GainLeast Seconds `json:"gain_least_seconds"`
	GainMost  Seconds `json:"gain_most_seconds"`
}
