package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// comparison holds a start-up's transition records against its timeline.
type comparison struct {
	timeline Timeline
	pod      PodTransition
	problems []string
}

// Disagreements says where the transition records that were printed with a timeline tell something else than that: an
// instant outside of its mark's interval, a length that is not that of its phase, or not that between its ends.
func (t Timeline) Disagreements() []string {
	if len(t.Transitions) == 0 || t.Transitions[0].Metrics.Pod == nil {
		return []string{"no transition record of the pod comes first"}
	}
	c := &comparison{timeline: t, pod: *t.Transitions[0].Metrics.Pod}
	var containers, pulled []string
	for i, record := range t.Transitions {
		m := record.Metrics
		if m.Namespace != t.Namespace || m.PodName != t.Name || m.Node != t.Node || m.Partial != t.Partial {
			c.problem("transition record %d is of %s/%s on %s, partial %t", i, m.Namespace, m.PodName, m.Node, m.Partial)
		}
		switch {
		case m.Type == "pod" && m.Pod != nil && i == 0:
			c.comparePod()
		case m.Type == "container" && m.ContainerReached != nil:
			containers = append(containers, m.Container)
			c.compareContainer(m.Container, *m.ContainerReached)
		case m.Type == "image_pull" && m.ImagePull != nil:
			pulled = append(pulled, c.comparePull(m))
		default:
			c.problem("transition record %d of type %s has another part, or another place", i, m.Type)
		}
	}
	c.compareSets(containers, pulled)
	return c.problems
}

func (c *comparison) problem(format string, arguments ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, arguments...))
}

func (c *comparison) comparePod() {
	p, t := c.pod, c.timeline
	if !p.CreatedAt.Equal(t.CreatedAt) {
		c.problem("created at %s, the timeline says %s", p.CreatedAt, t.CreatedAt)
	}
	c.within("pod scheduled", p.ScheduledAt, "", "scheduled")
	c.within("pod ready", p.ReadyAt, "", "ready")
	c.length("creation to scheduled", p.CreationToScheduled, p.CreatedAt, p.ScheduledAt)
	c.length("creation to initialized", p.CreationToInitialized, p.CreatedAt, p.InitializedAt)
	c.length("scheduled to initialized", p.ScheduledToInitialized, p.ScheduledAt, p.InitializedAt)
	c.length("creation to ready", p.CreationToReady, p.CreatedAt, p.ReadyAt)
	c.length("initialized to ready", p.InitializedToReady, p.InitializedAt, p.ReadyAt)
	if t.State == Ready && len(t.Conflicts) == 0 && !c.same(p.CreationToReady, t.TotalSeconds) {
		c.problem("ready after %s, in all %s", p.CreationToReady, t.TotalSeconds)
	}
	c.phase("scheduling", "", p.CreationToScheduled)
}

func (c *comparison) compareContainer(name string, r ContainerTransition) {
	c.within(name+" running", r.RunningAt, name, "running")
	c.within(name+" started", r.StartedAt, name, "running", "post_started", "started")
	c.within(name+" ready", r.ReadyAt, name, "container_ready", "finished")
	c.length(name+" running to started", r.RunningToStarted, r.RunningAt, r.StartedAt)
	c.length(name+" running to ready", r.RunningToReady, r.RunningAt, r.ReadyAt)
	c.length(name+" started to ready", r.StartedToReady, r.StartedAt, r.ReadyAt)
	if r.InitContainer {
		c.phase("init_run", name, r.RunningToReady)
		return
	}
	c.length(name+" initialized to running", r.InitializedToRunning, c.pod.InitializedAt, r.RunningAt)
}

// comparePull returns whose image it is, in the timeline's words.
func (c *comparison) comparePull(m TransitionMetrics) (container string) {
	r := m.ImagePull
	attempts := c.timeline.PullsOf(m.Container)
	if m.Container == "" { // the image of a volume
		attempts = nil
		for _, p := range c.timeline.Pulls {
			if strings.HasPrefix(p.Container, "image:") && strings.HasSuffix(p.Image, m.ImageTag) && strings.Contains(p.Image, m.ImageName) {
				attempts = append(attempts, p)
			}
		}
	}
	if len(attempts) == 0 {
		c.problem("an image was pulled for %q, the timeline knows of none", m.Container)
		return m.Container
	}
	first, last := attempts[0], attempts[len(attempts)-1]
	what := "pull of " + first.Container
	if there, proven := map[string]bool{Present: true, Verified: true, Downloaded: false, Joined: false}[last.Outcome]; proven != (r.AlreadyPresent != nil) ||
		proven && *r.AlreadyPresent != there {
		c.problem("%s: already_present does not agree with %s", what, last.Outcome)
	}
	if !slices.ContainsFunc([]time.Time{first.RequestedAt, first.StartedAt, last.FinishedAt}, r.StartedAt.Equal) {
		c.problem("%s: began at %s, the timeline says %s", what, r.StartedAt, first.RequestedAt)
	}
	if !r.FinishedAt.IsZero() && !r.FinishedAt.Equal(last.FinishedAt) {
		c.problem("%s: ended at %s, the timeline says %s", what, r.FinishedAt, last.FinishedAt)
	}
	c.length(what, r.Duration, r.StartedAt, r.FinishedAt)
	return first.Container
}

// compareSets wants a record of each container that ran, and of each pull of which the timeline knows the beginning.
func (c *comparison) compareSets(containers, pulled []string) {
	for _, m := range c.timeline.Marks {
		if m.Mark == "running" && !slices.Contains(containers, m.Container) {
			c.problem("no transition record of container %s", m.Container)
		}
	}
	for _, p := range c.timeline.Pulls {
		if p.Attempt == 0 && !p.RequestedAt.IsZero() && !slices.Contains(pulled, p.Container) {
			c.problem("no transition record of the pull for %s", p.Container)
		}
	}
}

// within wants an instant in the interval of the mark, or of one of several.
func (c *comparison) within(what string, at time.Time, container string, marks ...string) {
	if at.IsZero() {
		return
	}
	for _, m := range c.timeline.Marks {
		if slices.Contains(marks, m.Mark) && m.Container == container && !at.Before(m.Earliest) &&
			(m.Latest.IsZero() || !at.After(m.Latest)) {
			return
		}
	}
	c.problem("%s at %s, which no mark allows", what, at)
}

// length wants a length to be there if its ends are, in their order, and to be as long as they are apart.
func (c *comparison) length(what string, length json.Number, from, to time.Time) {
	known := !from.IsZero() && !to.IsZero() && !to.Before(from)
	if known != (length != "") {
		c.problem("%s is %q from %s to %s", what, length, from, to)
		return
	}
	if !known {
		return
	}
	if told, err := Nanoseconds(length); err != nil || told != to.Sub(from) {
		c.problem("%s is %s, its ends are %s apart", what, length, to.Sub(from))
	}
}

// phase wants a length to be that of the phase that is the same stretch, where the timeline has that as one of its own.
func (c *comparison) phase(phase, container string, length json.Number) {
	var found []Phase
	for _, p := range c.timeline.Phases {
		if p.Phase == phase && p.Container == container {
			found = append(found, p)
		}
	}
	if len(found) != 1 || found[0].Open || len(found[0].MergedWith) > 0 || len(c.timeline.Conflicts) > 0 || length == "" {
		return
	}
	if !c.same(length, found[0].Seconds) {
		c.problem("%s %s takes %s, the phase %s", container, phase, length, found[0].Seconds)
	}
}

func (c *comparison) same(one, other json.Number) bool {
	a, err := Nanoseconds(one)
	b, otherErr := Nanoseconds(other)
	return err == nil && otherErr == nil && a == b
}
