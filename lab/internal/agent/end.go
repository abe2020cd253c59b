package agent

// End is the record of a pod that was deleted, as far as scenarios read it.
type End struct {
	ID          string      `json:"id"`
	Namespace   string      `json:"namespace"`
	Name        string      `json:"name"`
	Termination Termination `json:"termination"`

	Raw []byte `json:"-"`
}

// Termination is how it ended.
type Termination struct {
	Total      float64 `json:"total_seconds"`
	TotalError float64 `json:"total_error_seconds"`
	Verdict    string  `json:"verdict"`
	Phases     []struct {
		Phase  string  `json:"phase"`
		Length float64 `json:"seconds"`
		Error  float64 `json:"error_seconds"`
	} `json:"phases"`
	Containers []struct {
		Container string  `json:"container"`
		How       string  `json:"how"`
		ExitCode  int     `json:"exit_code"`
		Used      float64 `json:"grace_used_seconds"`
		Error     float64 `json:"error_seconds"`
	} `json:"containers"`
}
