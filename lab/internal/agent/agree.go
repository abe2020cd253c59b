package agent

import (
	"encoding/json"
	"fmt"
	"time"
)

// comparison compares a start-up's transition records with its timeline.
type comparison struct {
	timeline   Timeline
	pod        PodTransition
	containers []TransitionMetrics
	pulls      []TransitionMetrics
	problems   []string
}

// Disagreements lists the contradictions between a timeline and the transition records that the agent printed with the
// timeline. Each of the following differences is a contradiction:
//
//   - The pod, owner, container or image in a record differs from the one in the timeline.
//   - The records are not in the required order.
//   - The timeline gives an interval for a milestone, and the record's time of this milestone lies outside the
//     interval.
//   - The timeline contains a milestone, but the record omits the time of this milestone.
//   - A duration in a record differs from the duration of the same phase in the timeline.
//   - A duration in a record differs from the time between its start and its end.
func (t Timeline) Disagreements() []string {
	if len(t.Transitions) == 0 || t.Transitions[0].Metrics.Pod == nil {
		return []string{"the first transition record must be the record of the pod"}
	}
	c := &comparison{timeline: t, pod: *t.Transitions[0].Metrics.Pod}
	for i, record := range t.Transitions {
		m := record.Metrics
		switch {
		case m.Type == "pod" && m.Pod != nil && i == 0:
		case m.Type == "container" && m.ContainerReached != nil && len(c.pulls) == 0:
			c.containers = append(c.containers, m)
		case m.Type == "image_pull" && m.ImagePull != nil:
			c.pulls = append(c.pulls, m)
		default:
			c.problem("transition record %d of type %s lacks the data of this type, or is out of order; the "+
				"order must be pod, containers, pulls", i, m.Type)
		}
		if !record.Time.Equal(t.Transitions[0].Time) {
			c.problem("transition record %d has time %s, want the time %s of the pod's record", i, record.Time,
				t.Transitions[0].Time)
		}
	}
	c.compareLabels()
	c.comparePod()
	c.compareContainers()
	c.comparePulls()
	return c.problems
}

func (c *comparison) problem(format string, arguments ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, arguments...))
}

func (c *comparison) comparePod() {
	p, t := c.pod, c.timeline
	if !p.CreatedAt.Equal(t.CreatedAt) {
		c.problem("the record states creation at %s, but the timeline states %s", p.CreatedAt, t.CreatedAt)
	}
	c.compareInstant("pod scheduled", p.ScheduledAt, c.marked("scheduled", ""))
	c.compareInstant("pod initialized", p.InitializedAt, c.initialized())
	c.compareInstant("pod ready", p.ReadyAt, c.marked("ready", ""))
	c.compareLength("creation to scheduled", p.CreationToScheduled, p.CreatedAt, p.ScheduledAt)
	c.compareLength("creation to initialized", p.CreationToInitialized, p.CreatedAt, p.InitializedAt)
	c.compareLength("scheduled to initialized", p.ScheduledToInitialized, p.ScheduledAt, p.InitializedAt)
	c.compareLength("creation to ready", p.CreationToReady, p.CreatedAt, p.ReadyAt)
	c.compareLength("initialized to ready", p.InitializedToReady, p.InitializedAt, p.ReadyAt)
	if t.State == Ready && len(t.Conflicts) == 0 && !c.same(p.CreationToReady, t.TotalSeconds) {
		c.problem("the record states readiness after %s s, but total_seconds is %s", p.CreationToReady, t.TotalSeconds)
	}
	c.comparePhase("scheduling", "", p.CreationToScheduled)
}

// compareLength checks a duration in a record. If the start or the end is unknown, or if the end is before the start,
// the record must omit the duration. In all other cases, the record must contain the duration, and the duration must
// equal the time between the start and the end.
func (c *comparison) compareLength(what string, length json.Number, from, to time.Time) {
	known := !from.IsZero() && !to.IsZero() && !to.Before(from)
	if known != (length != "") {
		c.problem("duration %s is %q, want a duration if and only if its start %s and its end %s are known and in "+
			"order", what, length, from, to)
		return
	}
	if !known {
		return
	}
	if reported, err := Nanoseconds(length); err != nil || reported != to.Sub(from) {
		c.problem("duration %s is %s, but the time between its start and its end is %s", what, length,
			to.Sub(from))
	}
}

// requireAbsent requires that a record omits the given durations.
func (c *comparison) requireAbsent(what string, lengths ...json.Number) {
	for _, length := range lengths {
		if length != "" {
			c.problem("duration %s must be omitted, but is %s", what, length)
		}
	}
}

// comparePhase requires that a duration in a record equals the duration of the same phase in the timeline. In each of
// the following cases, comparePhase checks nothing:
//
//   - The record omits the duration.
//   - The timeline contains no phase with this name, or contains several phases with this name.
//   - The phase is open or merged with other phases.
//   - The timeline contains conflicts.
func (c *comparison) comparePhase(phase, container string, length json.Number) {
	var found []Phase
	for _, p := range c.timeline.Phases {
		if p.Phase == phase && p.Container == container {
			found = append(found, p)
		}
	}
	if len(found) != 1 || found[0].Open || len(found[0].MergedWith) > 0 || len(c.timeline.Conflicts) > 0 ||
		length == "" {
		return
	}
	if !c.same(length, found[0].Seconds) {
		c.problem("container %q, phase %s: the record states %s s, but the timeline states %s s", container, phase,
			length, found[0].Seconds)
	}
}

func (c *comparison) same(one, other json.Number) bool {
	a, err := Nanoseconds(one)
	b, otherErr := Nanoseconds(other)
	return err == nil && otherErr == nil && a == b
}
