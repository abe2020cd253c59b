// Package agent reads the agent's reports through the agent's public API. The types of this package follow the
// published contract, and share no code with the agent. So a test of the lab fails if a change of the agent breaks the
// published contract.
package agent

import (
	"encoding/json"
	"slices"
	"time"
)

// Timeline describes one pod's start-up.
type Timeline struct {
	ID           string      `json:"id"` // identifier of the start-up; repeated reports have the same ID
	Namespace    string      `json:"namespace"`
	Name         string      `json:"name"`
	UID          string      `json:"uid"`
	Node         string      `json:"node"`
	State        string      `json:"state"` // "starting", "ready", "succeeded", "failed", "deleted" or "given_up"
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
	// Events that the kubelet created but the agent never received, for example Pulled/main
	LostEvents []string   `json:"lost_events"`
	ClockSkew  *Skew      `json:"clock_skew"` // absent if the agent has not proven a skew
	Partial    bool       `json:"partial"`    // true if the agent prints a later record of this start-up
	Owner      Owner      `json:"owner"`      // empty if the pod has no owner
	Reason     string     `json:"reason"`
	Verdict    string     `json:"verdict"`
	Conflicts  []Conflict `json:"conflicts"`

	// changes that would make the start-up faster; empty if the evidence does not prove a gain, for example on a busy
	// machine
	WhatIf        []WhatIf `json:"what_if"`
	WhatIfUnknown []WhatIf `json:"what_if_unknown"` // changes whose effect is unknown

	Raw         []byte       `json:"-"` // the response or the line as received
	Transitions []Transition `json:"-"` // transition records that the agent printed with the timeline
	Cut         bool         `json:"-"` // true if the agent was killed before it printed all transition records
}

// Owner identifies the controller of a pod, or the Deployment or CronJob that owns this controller.
type Owner struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// WhatIf is a change with a predicted or an unknown effect.
type WhatIf struct {
	Text string `json:"text"`
}

// Conflict is a contradiction between sources.
type Conflict struct {
	Milestone string `json:"milestone"`
	Detail    string `json:"detail"`
}

// Skew contains the smallest and the largest possible difference between the two clocks. If the difference is positive,
// the control plane's clock is ahead of the node's clock.
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
	// true if the container starts or runs, and its image is lazy
	ImageLoading bool      `json:"image_loading"`
	Open         bool      `json:"open"`     // true if the phase was in progress when the agent made the record
	Pressure     *Pressure `json:"pressure"` // absent if the agent did not measure the pressure
}

// Pressure contains, for each resource, the share of a phase during which tasks on the node waited for the resource.
type Pressure struct {
	CPU    float64 `json:"cpu"`
	IO     float64 `json:"io"`
	Memory float64 `json:"memory"`
}

// Milestone is an instant with the interval that contains it. If one end of the interval is unknown, its value is zero.
type Milestone struct {
	Milestone string    `json:"milestone"`
	Container string    `json:"container"`
	Attempt   int       `json:"attempt"`
	Earliest  time.Time `json:"earliest"`
	Latest    time.Time `json:"latest"`
	Sources   []string  `json:"sources"`
}

// Starting is the state of a pod whose start-up is not over.
const Starting = "starting"

// Ready is the state of a pod that became ready.
const Ready = "ready"

// GivenUp is the state of a pod that was not ready an hour after the agent first saw the pod.
const GivenUp = "given_up"

// Succeeded is the state of a pod whose containers ran to completion.
const Succeeded = "succeeded"

// Unattributed is the phase for time whose cause the evidence does not show.
const Unattributed = "unattributed"

// ImagePull is the phase for pulling and unpacking, if the evidence does not separate these two steps.
const ImagePull = "image_pull"

// IsGroup reports whether a phase stands for several phases, which its field MergedWith lists.
func (p Phase) IsGroup() bool {
	return p.Phase == Unattributed || p.Phase == ImagePull || p.Phase == "sandbox_setup"
}

// In returns the total duration of the phases with the given name and container. An empty container matches all
// containers. If no phase matches, ok is false.
func (t Timeline) In(phase, container string) (sum time.Duration, ok bool, err error) {
	return t.sum(phase, container, func(p Phase) json.Number { return p.Seconds })
}

// Stated adds up the error bounds of all phases with the given name and container.
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

// MergedIn returns the group phase that lists the named phase in its field MergedWith.
func (t Timeline) MergedIn(phase string) (Phase, bool) {
	for _, p := range t.Phases {
		if p.IsGroup() && slices.Contains(p.MergedWith, phase) {
			return p, true
		}
	}
	return Phase{}, false
}

// Milestone returns the last milestone with the given name and container.
func (t Timeline) Milestone(name, container string) (Milestone, bool) {
	for _, m := range slices.Backward(t.Milestones) {
		if m.Milestone == name && m.Container == container {
			return m, true
		}
	}
	return Milestone{}, false
}
