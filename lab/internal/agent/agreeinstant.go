package agent

import (
	"slices"
	"time"
)

// span is the interval in which an instant in a record must lie. The interval comes from the timeline. If the start of
// the interval is unknown, the field "from" is zero. If the end is unknown, the field "to" is zero. If both "known"
// and "doubtful" are false, the record must omit the instant.
type span struct {
	known    bool // true if the record must contain the instant
	doubtful bool // true if the record is allowed to contain or to omit the instant
	from, to time.Time
}

func (s span) holds(at time.Time) bool {
	return (s.known || s.doubtful) && !at.Before(s.from) && (s.to.IsZero() || !at.After(s.to))
}

// laterOf takes the intervals of two instants, and returns the interval of the later instant.
func (s span) laterOf(other span) span {
	both := span{from: s.from, to: s.to, doubtful: s.doubtful || other.doubtful}
	both.known = s.known && other.known && !both.doubtful
	if other.from.After(both.from) {
		both.from = other.from
	}
	if both.to.IsZero() || other.to.IsZero() {
		both.to = time.Time{}
	} else if other.to.After(both.to) {
		both.to = other.to
	}
	return both
}

// compareInstant checks one instant in a record. The argument "allowed" is the interval of the instant according to the
// timeline. If allowed.known is true, the record must contain the instant. If the record contains the instant, the
// instant must lie in this interval.
func (c *comparison) compareInstant(what string, at time.Time, allowed span) {
	switch {
	case at.IsZero() && allowed.known:
		c.problem("instant %s is missing, but the timeline has it between %s and %s", what, allowed.from, allowed.to)
	case !at.IsZero() && !allowed.holds(at):
		c.problem("instant %s is %s (the timeline has this instant: %t), want a time between %s and %s",
			what, at,
			allowed.known || allowed.doubtful, allowed.from, allowed.to)
	}
}

// marked returns the interval of the named milestone. If several attempts have this milestone, the result is the
// interval of the first attempt.
func (c *comparison) marked(name, container string) span {
	var first *Milestone
	for i, m := range c.timeline.Milestones {
		if m.Milestone == name && m.Container == container && (first == nil || m.Attempt < first.Attempt) {
			first = &c.timeline.Milestones[i]
		}
	}
	if first == nil {
		return span{}
	}
	return first.span()
}

func (m Milestone) span() span { return span{known: true, from: m.Earliest, to: m.Latest} }

// firstRunStart returns the interval in which a container's first run started.
func (c *comparison) firstRunStart(container string) span {
	for _, m := range c.timeline.Milestones {
		if m.Milestone == "running" && m.Container == container && m.Attempt == 0 {
			return m.span()
		}
	}
	return span{}
}

// startInterval returns the interval in which a main container or a sidecar started. A container with a startup probe
// counts as started when the probe passes. A container with a postStart hook, but without a startup probe, counts as
// started when the hook returns. A container without a startup probe and without a postStart hook counts as started
// when it is running.
//
// The timeline does not show whether a container has a probe or a hook. Therefore, startInterval searches the timeline
// for two milestones: "started" of a startup probe, and "post_started" of a postStart hook. If the timeline lists one
// of these milestones in Missing, the milestone has no evidence, and the interval is unknown.
func (c *comparison) startInterval(container string) span {
	for _, name := range []string{"started", "post_started"} {
		if s := c.marked(name, container); s.known {
			return s
		}
		if slices.Contains(c.timeline.Missing, name+"/"+container) {
			return span{}
		}
	}
	s := c.firstRunStart(container)
	if s.known && !c.marked("container_ready", container).known {
		s.known, s.doubtful = false, true // a probe or a hook might still be in progress
	}
	return s
}

// initialized returns the interval in which the pod became initialized. A pod becomes initialized when all its init
// containers have succeeded and all its sidecars have started. A pod does not become initialized before the kubelet
// acknowledges the pod.
func (c *comparison) initialized() span {
	initialized := c.marked("acknowledged", "")
	for _, known := range c.timeline.containersInOrder() {
		if known.Kind != Init && known.Kind != Sidecar {
			continue
		}
		passed := c.passed(known)
		switch {
		case !passed.known && !passed.doubtful:
			return span{}
		case !initialized.known && !initialized.doubtful:
			initialized = passed
		default:
			initialized = initialized.laterOf(passed)
		}
	}
	return initialized
}

// passed returns the interval in which a sidecar started or an init container succeeded. After the container has
// started or succeeded, the kubelet can start the next container. For an init container, the interval starts and ends
// at the time ReadyAt in the container's record.
func (c *comparison) passed(known container) span {
	if known.Kind == Sidecar {
		return c.startInterval(known.Name)
	}
	for _, m := range c.containers {
		if at := m.ContainerReached.ReadyAt; m.Container == known.Name && !at.IsZero() {
			return span{known: true, from: at, to: at}
		}
	}
	return span{}
}
