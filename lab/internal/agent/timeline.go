// Package agent reads the agent's reports only through its public API. The package's types follow the published
// contract and are independent of the agent's code. If a change of the agent's code breaks the contract, this package
// therefore fails.
package agent

import (
	"encoding/json"
	"slices"
	"time"
)

// Timeline describes one pod's start-up.
type Timeline struct {
	ID           string      `json:"id"` // identifies the start-up in repeated reports
	Namespace    string      `json:"namespace"`
	Name         string      `json:"name"`
	UID          string      `json:"uid"`
	Node         string      `json:"node"`
	State        string      `json:"state"` // starting, ready, succeeded, failed, deleted
	CreatedAt    time.Time   `json:"created_at"`
	SettledAt    time.Time   `json:"settled_at"`
	TotalSeconds json.Number `json:"total_seconds"`
	TotalError   json.Number `json:"total_error_seconds"`
	Phases       []Phase     `json:"phases"`
	Pulls        []Pull      `json:"pulls"`
	Milestones   []Milestone `json:"milestones"`
	Missing      []string    `json:"missing"`
	// milestones that the runtime can never report
	Unreported []string `json:"unreported"`
	// such as Pulled/main: the kubelet created the Event, but it never arrived
	LostEvents []string   `json:"lost_events"`
	ClockSkew  *Skew      `json:"clock_skew"` // absent unless the agent has proven a skew
	Partial    bool       `json:"partial"`    // the agent prints a later record of this start-up
	Owner      Owner      `json:"owner"`      // empty for a pod without an owner
	Reason     string     `json:"reason"`
	Verdict    string     `json:"verdict"`
	Conflicts  []Conflict `json:"conflicts"`

	Raw         []byte       `json:"-"` // response or line as received
	Transitions []Transition `json:"-"` // transition records that were printed with the timeline
	Cut         bool         `json:"-"` // the agent was killed before it had printed all transition records
}

// Owner is the controller of the pod, or the owner of that controller.
type Owner struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Conflict is a contradiction between sources.
type Conflict struct {
	Milestone string `json:"milestone"`
	Detail    string `json:"detail"`
}

// Skew contains the least and the greatest possible difference between the clocks. A positive difference means that the
// control plane's clock is ahead of the node's clock.
type Skew struct {
	Least json.Number `json:"least_seconds"`
	Most  json.Number `json:"most_seconds"`
}

// Phase is one phase of the start-up.
type Phase struct {
	Phase      string      `json:"phase"`
	Cause      string      `json:"cause"`
	Container  string      `json:"container"`
	Attempt    int         `json:"attempt"`
	StartAt    time.Time   `json:"start_at"`
	EndAt      time.Time   `json:"end_at"`
	Seconds    json.Number `json:"seconds"`
	Error      json.Number `json:"error_seconds"`
	Sources    []string    `json:"sources"`
	MergedWith []string    `json:"merged_with"`
	Open       bool        `json:"open"`     // the phase was in progress when the agent made the record
	Pressure   *Pressure   `json:"pressure"` // absent if the agent did not measure the pressure
}

// Pressure contains the shares of a phase in which tasks of the node waited for each resource.
type Pressure struct {
	CPU    float64 `json:"cpu"`
	IO     float64 `json:"io"`
	Memory float64 `json:"memory"`
}

// Milestone is an instant with the interval that contains it. An unknown end of the interval is zero.
type Milestone struct {
	Milestone string    `json:"milestone"`
	Container string    `json:"container"`
	Attempt   int       `json:"attempt"`
	Earliest  time.Time `json:"earliest"`
	Latest    time.Time `json:"latest"`
	Sources   []string  `json:"sources"`
}

// Starting is the state of a pod that has not settled.
const Starting = "starting"

// Ready is the state of a pod that became ready.
const Ready = "ready"

// GivenUp is the state of a pod that was not ready an hour after the agent first saw the pod.
const GivenUp = "given_up"

// Succeeded is the state of a pod whose containers ran to completion.
const Succeeded = "succeeded"

// Unattributed is the phase for time that no evidence can divide.
const Unattributed = "unattributed"

// In adds up the durations of the phases with this name and container. An empty container matches any
// container. The result ok is false if no phase matches. If a phase of zero length matches, ok is true.
func (t Timeline) In(phase, container string) (sum time.Duration, ok bool, err error) {
	return t.sum(phase, container, func(p Phase) json.Number { return p.Seconds })
}

// Stated adds up the stated errors of the phases with this name and container.
func (t Timeline) Stated(phase, container string) (time.Duration, error) {
	sum, _, err := t.sum(phase, container, func(p Phase) json.Number { return p.Error })
	return sum, err
}

func (t Timeline) sum(phase, container string, field func(Phase) json.Number) (sum time.Duration, ok bool, err error) {
	for _, p := range t.Phases {
		if p.Phase != phase || container != "" && p.Container != container {
			continue
		}
		length, err := Nanoseconds(field(p))
		if err != nil {
			return 0, false, err
		}
		sum, ok = sum+length, true
	}
	return sum, ok, nil
}

// MergedIn returns the unattributed phase into which another phase is merged.
func (t Timeline) MergedIn(phase string) (Phase, bool) {
	for _, p := range t.Phases {
		if p.Phase == Unattributed && slices.Contains(p.MergedWith, phase) {
			return p, true
		}
	}
	return Phase{}, false
}

// Milestone returns the last milestone with this name and container.
func (t Timeline) Milestone(name, container string) (Milestone, bool) {
	for _, m := range slices.Backward(t.Milestones) {
		if m.Milestone == name && m.Container == container {
			return m, true
		}
	}
	return Milestone{}, false
}
