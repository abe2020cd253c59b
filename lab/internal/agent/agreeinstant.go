package agent

import (
	"slices"
	"time"
)

// span is the interval that the timeline allows for an instant. An end is zero if nothing bounds it. A span may also
// allow no instant.
type span struct {
	known    bool // the instant must be reported
	doubtful bool // it may be reported or omitted
	from, to time.Time
}

func (s span) holds(at time.Time) bool {
	return (s.known || s.doubtful) && !at.Before(s.from) && (s.to.IsZero() || !at.After(s.to))
}

// later is the interval of the later of two instants.
func (s span) later(other span) span {
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

// instant requires an instant to be reported if the timeline knows it, and to lie in its interval there.
func (c *comparison) instant(what string, at time.Time, allowed span) {
	switch {
	case at.IsZero() && allowed.known:
		c.problem("%s is missing, but the timeline has it between %s and %s", what, allowed.from, allowed.to)
	case !at.IsZero() && !allowed.holds(at):
		c.problem("%s is %s, but reported in the timeline: %t, between %s and %s", what, at,
			allowed.known || allowed.doubtful, allowed.from, allowed.to)
	}
}

// marked is the interval of the first milestone with this name.
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

// running is the interval in which a container's first run started.
func (c *comparison) running(container string) span {
	for _, m := range c.timeline.Milestones {
		if m.Milestone == "running" && m.Container == container && m.Attempt == 0 {
			return m.span()
		}
	}
	return span{}
}

// started is when a container's startup probe passed; without a probe, when its hook returned; without a hook, when it
// ran. The timeline does not show which of these a container has, only which milestones exist and which are missing.
func (c *comparison) started(container string) span {
	for _, name := range []string{"started", "post_started"} {
		if s := c.marked(name, container); s.known {
			return s
		}
		if slices.Contains(c.timeline.Missing, name+"/"+container) {
			return span{}
		}
	}
	s := c.running(container)
	if s.known && !c.marked("container_ready", container).known {
		s.known, s.doubtful = false, true // a probe or a hook may still be in progress
	}
	return s
}

// initialized is when the last of the containers before the main ones had passed, and not before the kubelet
// acknowledged the pod.
func (c *comparison) initialized() span {
	initialized := c.marked("acknowledged", "")
	for _, known := range c.timeline.containers() {
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
			initialized = initialized.later(passed)
		}
	}
	return initialized
}

// passed is when the kubelet could continue with the container after an init container or a sidecar. The end of an init
// container is in its own record.
func (c *comparison) passed(known container) span {
	if known.Kind == Sidecar {
		return c.started(known.Name)
	}
	for _, m := range c.containers {
		if at := m.ContainerReached.ReadyAt; m.Container == known.Name && !at.IsZero() {
			return span{known: true, from: at, to: at}
		}
	}
	return span{}
}
