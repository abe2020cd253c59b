package agent

import (
	"encoding/json"
	"slices"
	"time"
)

// TerminationRecord is the record of a deleted pod.
type TerminationRecord struct {
	ID          string      `json:"id"`
	Namespace   string      `json:"namespace"`
	Name        string      `json:"name"`
	UID         string      `json:"uid"`
	Termination Termination `json:"termination"`

	Raw []byte `json:"-"`
}

// Termination describes how a pod terminated.
type Termination struct {
	RequestedAt  time.Time   `json:"requested_at"`
	GoneAt       time.Time   `json:"gone_at"`
	TotalSeconds json.Number `json:"total_seconds"`
	TotalError   json.Number `json:"total_error_seconds"`
	Verdict      string      `json:"verdict"`
	Phases       []Phase     `json:"phases"`
	Containers   []Stop      `json:"containers"`
	Conflicts    []Conflict  `json:"conflicts"`
	Missing      []string    `json:"missing"`
}

// Stop describes how one container stopped.
type Stop struct {
	Container string      `json:"container"`
	How       string      `json:"how"`
	StoppedAt time.Time   `json:"stopped_at"`
	ExitCode  *int        `json:"exit_code"`
	Signal    int         `json:"signal"`
	Used      json.Number `json:"grace_used_seconds"`
	Error     json.Number `json:"error_seconds"`
}

// Of returns the Stop of the named container. If the record does not contain the container, Of returns the zero value.
func (t Termination) Of(container string) Stop {
	if i := slices.IndexFunc(t.Containers, func(s Stop) bool { return s.Container == container }); i >= 0 {
		return t.Containers[i]
	}
	return Stop{}
}
