// Package agent reads what the agent says, through its public API alone. Its types are written from
// the published contract and not shared with the agent's code: a change there that breaks the
// contract has to show here.
package agent

import (
	"encoding/json"
	"slices"
	"time"
)

// Timeline is one pod's start-up.
type Timeline struct {
	ID           string      `json:"id"` // the same whenever the same start-up is reported again
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
	LostEvents   []string    `json:"lost_events"` // such as Pulled/main: kubelet made it, nobody has it
	ClockSkew    *Skew       `json:"clock_skew"`  // absent while it is not proven
	Partial      bool        `json:"partial"`     // another record will follow
	Owner        Owner       `json:"owner"`       // of a bare pod there is none
	Reason       string      `json:"reason"`
	Verdict      string      `json:"verdict"`
	Conflicts    []Conflict  `json:"conflicts"`

	Raw         []byte       `json:"-"` // the answer, or line, as it came
	Transitions []Transition `json:"-"` // printed with it
	Cut         bool         `json:"-"` // the agent was killed before it had printed all of them
}

// Owner is the controller of the pod, or that one's own.
type Owner struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Conflict is a contradiction between sources.
type Conflict struct {
	Milestone string `json:"milestone"`
	Detail    string `json:"detail"`
}

// Skew is how far the control plane's clock is ahead of the node's, at least and at most.
type Skew struct {
	Least json.Number `json:"least_seconds"`
	Most  json.Number `json:"most_seconds"`
}

// Phase is one stretch of it.
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
	Open       bool        `json:"open"`     // it went on when the record was made
	Pressure   *Pressure   `json:"pressure"` // absent where nobody measured it
}

// Pressure is the share of a phase in which tasks of the node waited for a resource.
type Pressure struct {
	CPU    float64 `json:"cpu"`
	IO     float64 `json:"io"`
	Memory float64 `json:"memory"`
}

// Milestone is an instant and the interval that is said to hold it; a zero end is not known.
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

// Ready is the state of a pod whose start-up ended well.
const Ready = "ready"

// GivenUp is the state of a pod that was not ready an hour after the agent first saw it.
const GivenUp = "given_up"

// Succeeded is the state of a pod whose containers ran to completion.
const Succeeded = "succeeded"

// Unattributed is the phase of a stretch that no evidence tells apart.
const Unattributed = "unattributed"

// In sums the lengths of the phases of a name and a container; an empty container means any. ok is
// false when there is none: no such phase is not the same as one of no length.
func (t Timeline) In(phase, container string) (sum time.Duration, ok bool, err error) {
	return t.sum(phase, container, func(p Phase) json.Number { return p.Seconds })
}

// Stated sums how far from the truth the same phases can be by the agent's own word.
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

// MergedIn returns the phase that nobody is blamed for and that says it holds another one.
func (t Timeline) MergedIn(phase string) (Phase, bool) {
	for _, p := range t.Phases {
		if p.Phase == Unattributed && slices.Contains(p.MergedWith, phase) {
			return p, true
		}
	}
	return Phase{}, false
}

// Milestone returns the last milestone of a name and a container.
func (t Timeline) Milestone(name, container string) (Milestone, bool) {
	for _, m := range slices.Backward(t.Milestones) {
		if m.Milestone == name && m.Container == container {
			return m, true
		}
	}
	return Milestone{}, false
}
