package agent

import (
	"slices"
	"time"
)

// span is what the timeline allows an instant to be: a stretch whose ends are zero where nothing bounds it, or nothing.
type span struct {
	known    bool // the instant has to be told
	doubtful bool // it may be told, or not
	from, to time.Time
}

func (s span) holds(at time.Time) bool {
	return (s.known || s.doubtful) && !at.Before(s.from) && (s.to.IsZero() || !at.After(s.to))
}

// later is what the later one of two instants can be.
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

// instant wants an instant to be told where the timeline knows of it, and to be where that says.
func (c *comparison) instant(what string, at time.Time, allowed span) {
	switch {
	case at.IsZero() && allowed.known:
		c.problem("%s is not told, the timeline says from %s to %s", what, allowed.from, allowed.to)
	case !at.IsZero() && !allowed.holds(at):
		c.problem("%s at %s, the timeline knows of it: %t, from %s to %s", what, at, allowed.known || allowed.doubtful, allowed.from, allowed.to)
	}
}

// marked is where the first milestone of a name lies.
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

// running is where the beginning of a container's first run lies.
func (c *comparison) running(container string) span {
	for _, m := range c.timeline.Milestones {
		if m.Milestone == "running" && m.Container == container && m.Attempt == 0 {
			return m.span()
		}
	}
	return span{}
}

// started is when a container's startup probe passed, or else its hook was over, or else it ran. The timeline does not
// tell which of these a container has; it tells which milestones there are, and which are missing.
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
		s.known, s.doubtful = false, true // a probe or a hook may go on
	}
	return s
}

// initialized is when the last one of those before the main containers had passed, and not before kubelet took the pod up.
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

// passed is when kubelet could turn to the container after an init container or a sidecar. The end of an init container is
// told by its own record.
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
