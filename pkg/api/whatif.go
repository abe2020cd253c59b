package api

// WhatIf identifies a change to a pod, its node, or an object that the pod needs.
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
	Effect     string `json:"effect"`              // the new duration or the saved time in words, with its interval
	Assumption string `json:"assumption"`          // the condition under which the prediction holds, for people
	// TotalLeast is the shortest predicted duration of the start-up after the change, and TotalMost is the longest one.
	TotalLeast Seconds `json:"total_least_seconds"`
	TotalMost  Seconds `json:"total_most_seconds"`
	// Gain is the estimate of the saved time, limited to the range from GainLeast to GainMost. The estimate is the
	// length of the steps that the change removes. For WhatIfParallelPulls, the estimate is the midpoint between the
	// best case and the worst case. Gain is absent if the saved time depends on chance, as with a shorter probe period.
	Gain Seconds `json:"gain_seconds,omitempty"`
	// GainLeast is the shortest predicted time that the change saves, and GainMost is the longest one. GainMost is at
	// most the duration of the start-up. GainLeast is negative if the start-up can also take longer, for example
	// because a probe happens at a different time. For a shorter probe period, GainMost includes only the time that the
	// change saves in the wait for this probe. Other steps can also become faster by chance, but GainMost excludes this
	// additional gain.
	GainLeast Seconds `json:"gain_least_seconds"`
	GainMost  Seconds `json:"gain_most_seconds"`
}

// WhatIfUnknown is a change that might save much time, but whose effect the agent cannot predict.
type WhatIfUnknown struct {
	Change    WhatIf `json:"change"`
	Container string `json:"container,omitempty"` // absent if the change concerns the whole pod
	Text      string `json:"text"`                // the change in words for people; the wording can change
	Reason    string `json:"reason"`              // why the effect is unknown, for people; the wording can change
}

// WhatIfMean is the predicted effect of one change on the start-ups of a workload. All durations are means over the
// start-ups that have a prediction for this change. The ends of each interval are also means: TotalLeast is the mean of
// WhatIfRecord.TotalLeast. If the interval of each start-up contains the true duration after the change, the interval
// of the means contains the mean of the true durations. If each interval of the saved time contains the true saved
// time, the interval of the means contains the mean saved time.
type WhatIfMean struct {
	Change     WhatIf `json:"change"`
	Container  string `json:"container,omitempty"` // absent if the change concerns the whole pod
	Text       string `json:"text"`                // a text that is true for all predictions of this change
	Effect     string `json:"effect"`              // the mean duration or mean saved time in words, with its interval
	Assumption string `json:"assumption"`
	StartUps   int    `json:"start_ups"` // number of start-ups with a prediction for this change
	Of         int    `json:"of"`        // number of completed start-ups of known duration
	// Total is the mean duration without the change.
	Total      Seconds `json:"total_seconds"`
	TotalLeast Seconds `json:"total_least_seconds"`
	TotalMost  Seconds `json:"total_most_seconds"`
	Gain       Seconds `json:"gain_seconds,omitempty"` // absent if there is no estimate of the saved time
	GainLeast  Seconds `json:"gain_least_seconds"`
	GainMost   Seconds `json:"gain_most_seconds"`
}
