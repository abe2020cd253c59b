// Package agent reads the agent's reports through the agent's public API. The types of this package follow the
// published contract, and share no code with the agent. If a change of the agent breaks the published contract, a test
// of the lab fails.
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
	ClockSkew  *Skew      `json:"clock_skew"` // nil if the agent has not proven that the clocks differ
	Partial    bool       `json:"partial"`    // true if another record of this start-up follows
	Owner      Owner      `json:"owner"`      // empty if the pod has no owner
	Reason     string     `json:"reason"`
	Verdict    string     `json:"verdict"`
	Conflicts  []Conflict `json:"conflicts"`

	// changes that would make the start-up faster; the list is empty if the evidence does not prove a gain, for
	// example because the machine was busy
	WhatIf        []WhatIf `json:"what_if"`
	WhatIfUnknown []WhatIf `json:"what_if_unknown"` // changes that might save much time, but whose effect is unknown

	Raw         []byte       `json:"-"` // the response or the line as received
	Transitions []Transition `json:"-"` // transition records that the agent printed with the timeline
	Cut         bool         `json:"-"` // true if the agent was killed before it printed all transition records
}

// Owner identifies the controller of a pod. If a Deployment or a CronJob owns this controller, Owner identifies the
// Deployment or the CronJob instead.
type Owner struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// WhatIf is a change to the pod or to the node. The effect of the change on the start-up is predicted or unknown.
type WhatIf struct {
	Text string `json:"text"`
}

// Conflict describes a contradiction between sources of evidence.
type Conflict struct {
	Milestone string `json:"milestone"`
	Detail    string `json:"detail"`
}

// Skew contains the smallest and the largest possible difference between the control plane's clock and the node's
// clock. If the difference is positive, the control plane's clock is ahead of the node's clock.
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
	// true if the container starts or runs during the phase, and its image might still be loading (see Pull.Lazy)
	ImageLoading bool      `json:"image_loading"`
	Open         bool      `json:"open"`     // true if the phase was in progress when the agent made the record
	Pressure     *Pressure `json:"pressure"` // absent if the agent did not measure the pressure
}

// Pressure contains one share of the phase for each resource. During this share of the phase, tasks on the node waited
// for the resource.
type Pressure struct {
	CPU    float64 `json:"cpu"`
	IO     float64 `json:"io"`
	Memory float64 `json:"memory"`
}

// Milestone contains the interval in which a milestone of the start-up happened. If one end of the interval is
// unknown, the field for this end is zero.
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

// Unattributed is the name of a phase. The evidence does not show the cause of this phase.
const Unattributed = "unattributed"

// ImagePull is the name of a phase that covers both the pull and the unpacking of an image. The agent reports this
// phase if the evidence does not separate the two steps.
const ImagePull = "image_pull"

// IsGroup reports whether a phase stands for several phases. The field MergedWith lists these phases.
func (p Phase) IsGroup() bool {
	return p.Phase == Unattributed || p.Phase == ImagePull || p.Phase == "sandbox_setup"
}

// In returns the total duration of the phases with the given name and container. An empty container matches all
// containers. If no phase matches, ok is false.
func (t Timeline) In(phase, container string) (sum time.Duration, ok bool, err error) {
	return t.sum(phase, container, func(p Phase) json.Number { return p.Seconds })
}

// Stated returns the sum of the error bounds of all phases with the given name and container.
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

// MergedIn returns the group phase (see IsGroup) whose field MergedWith lists the named phase.
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
