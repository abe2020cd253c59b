package agent

import (
	"encoding/json"
	"slices"
	"time"
)

// container describes a container or an image volume from the timeline's list of pulls.
type container struct{ Name, Kind, Image string }

// containersInOrder returns the containers and the image volumes in the kubelet's order. The result omits ephemeral
// containers. If the pulls of a container have different images, the result contains the image of the last pull.
func (t Timeline) containersInOrder() (all []container) {
	for _, p := range t.Pulls {
		i := slices.IndexFunc(all, func(c container) bool { return c.Name == p.Container && c.Kind == p.Kind })
		switch {
		case i >= 0:
			all[i].Image = p.Image
		case p.Kind != Ephemeral:
			all = append(all, container{p.Container, p.Kind, p.Image})
		}
	}
	return all
}

// compareContainers requires exactly one record for each container. The records must be in the kubelet's order.
func (c *comparison) compareContainers() {
	known := slices.DeleteFunc(c.timeline.containersInOrder(), func(k container) bool { return k.Kind == ImageVolume })
	if len(known) != len(c.containers) {
		c.problem("there are %d records for %d containers, want one for each", len(c.containers), len(known))
		return
	}
	for i, m := range c.containers {
		if m.Container != known[i].Name {
			c.problem("record %d is about container %s, but the timeline has %s at this position", i, m.Container,
				known[i].Name)
			continue
		}
		if known[i].Image != Unknown {
			c.compareImage(m, known[i].Image)
		}
		c.compareInstant(m.Container+" running", m.ContainerReached.RunningAt, c.firstRunStart(m.Container))
		c.compareLength(m.Container+" running to ready", m.ContainerReached.RunningToReady,
			m.ContainerReached.RunningAt, m.ContainerReached.ReadyAt)
		switch known[i].Kind {
		case Init, Sidecar:
			c.compareInit(known[:i+1], m.ContainerReached)
		case Main:
			c.compareMain(m.Container, m.ContainerReached)
		default:
			c.problem("container %s has the unexpected kind %q", m.Container, known[i].Kind)
		}
	}
}

func (c *comparison) compareMain(name string, r *ContainerTransition) {
	if r.InitContainer {
		c.problem("container %s must not be reported as an init container", name)
	}
	c.compareInstant(name+" started", r.StartedAt, c.startInterval(name))
	c.compareInstant(name+" ready", r.ReadyAt, c.marked("container_ready", name))
	c.compareLength(name+" initialized to running", r.InitializedToRunning, c.pod.InitializedAt, r.RunningAt)
	c.compareLength(name+" running to started", r.RunningToStarted, r.RunningAt, r.StartedAt)
	c.compareLength(name+" started to ready", r.StartedToReady, r.StartedAt, r.ReadyAt)
	c.requireAbsent(name+" previous to running", r.PreviousToRunning)
}

// compareInit compares the record r with the timeline. The record belongs to the last container in "containers". This
// container must be an init container or a sidecar.
func (c *comparison) compareInit(containers []container, r *ContainerTransition) {
	last := len(containers) - 1
	name := containers[last].Name
	if !r.InitContainer {
		c.problem("container %s must be reported as an init container", name)
	}
	if !r.StartedAt.IsZero() {
		c.problem("init container %s must have no started_timestamp, but has %s", name, r.StartedAt)
	}
	c.requireAbsent(name+" from initialized or started", r.InitializedToRunning, r.RunningToStarted, r.StartedToReady)
	if containers[last].Kind == Sidecar {
		c.compareInstant(name+" ready", r.ReadyAt, c.marked("container_ready", name))
	} else {
		c.compareInstant(name+" done", r.ReadyAt, c.succeeded(name, r.ReadyAt))
		c.comparePhase("init_run", name, r.RunningToReady)
	}
	if last == 0 {
		c.requireAbsent(name+" previous to running", r.PreviousToRunning)
		return
	}
	c.checkSince(name+" previous to running", r.PreviousToRunning, c.passed(containers[last-1]), r.RunningAt)
}

// succeeded returns the interval in which the successful run of an init container ended. The timeline contains such an
// interval for each run, but does not show which run was successful. Therefore, the function returns the first interval
// that contains the reported time. If no interval contains the reported time, the result is the interval of the last
// run. If, in addition, no later container has started and the pod is not ready, the last run might have failed. The
// field "doubtful" of the result is then true.
func (c *comparison) succeeded(name string, reported time.Time) span {
	var last span
	for _, m := range c.timeline.Milestones {
		if m.Milestone != "finished" || m.Container != name {
			continue
		}
		last = m.span()
		if last.holds(reported) {
			return last
		}
	}
	if last.known && !c.passedBy(name) {
		last.known, last.doubtful = false, true
	}
	return last
}

// passedBy returns true if the pod is ready. passedBy also returns true if the kubelet has started a container that
// comes after the container with the given name.
func (c *comparison) passedBy(name string) bool {
	after := false
	for _, known := range c.timeline.containersInOrder() {
		if after && c.firstRunStart(known.Name).known {
			return true
		}
		after = after || known.Name == name
	}
	return c.timeline.State == Ready
}

// checkSince checks a duration in a record. The argument "to" is the end of the duration according to the records. The
// records do not contain the start of the duration, so the argument "from" is the interval of the start according to
// the timeline.
func (c *comparison) checkSince(what string, length json.Number, from span, to time.Time) {
	if length == "" {
		if from.known && !to.IsZero() && !from.to.IsZero() && !to.Before(from.to) {
			c.problem("duration %s is missing, although the timeline has its start and its end", what)
		}
		return
	}
	reported, err := Nanoseconds(length)
	if err != nil || reported < 0 || to.IsZero() || !from.holds(to.Add(-reported)) {
		c.problem("duration %s is %s and ends at %s, but in the timeline it starts between %s and %s", what, length,
			to, from.from,
			from.to)
	}
}
