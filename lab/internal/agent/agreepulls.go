package agent

import "time"

// comparePulls requires one record for each result of containersInOrder. The records must be in the order of these
// results. If the start or the image of a pull is unknown, there must be no record of this pull.
func (c *comparison) comparePulls() {
	reported := c.pulls
	for _, of := range c.timeline.containersInOrder() {
		want, dated := c.timeline.transitionOf(of.Name)
		if !dated {
			continue
		}
		name := of.Name
		if of.Kind == ImageVolume {
			name = ""
		}
		if len(reported) == 0 || reported[0].Container != name {
			c.problem("the record of the pull for %s is missing or out of order", of.Name)
			return
		}
		c.compareImage(reported[0], of.Image)
		c.comparePull("pull for "+of.Name, *reported[0].ImagePull, want)
		reported = reported[1:]
	}
	for _, m := range reported {
		c.problem("a record contains a pull for %q, but the timeline contains no start of this pull", m.Container)
	}
}

func (c *comparison) comparePull(what string, reported, want PullTransition) {
	if (reported.AlreadyPresent == nil) != (want.AlreadyPresent == nil) ||
		want.AlreadyPresent != nil && *reported.AlreadyPresent != *want.AlreadyPresent {
		c.problem("%s: already_present contradicts the outcome", what)
	}
	if !reported.StartedAt.Equal(want.StartedAt) {
		c.problem("%s: the record states the start %s, but the timeline states %s", what, reported.StartedAt,
			want.StartedAt)
	}
	if !reported.FinishedAt.Equal(want.FinishedAt) {
		c.problem("%s: the record states the end %s, but the timeline states %s", what, reported.FinishedAt,
			want.FinishedAt)
	}
	c.compareLength(what, reported.Duration, reported.StartedAt, reported.FinishedAt)
}

// transitionOf returns the record that the agent must print about the pulls of a container. The record combines all
// attempts, and its field Duration is not set. If the start or the image of the pulls is unknown, the result "dated"
// is false.
func (t Timeline) transitionOf(container string) (want PullTransition, dated bool) {
	attempts := t.PullsOf(container)
	last := attempts[len(attempts)-1]
	for i, first := range attempts {
		// If the image changed, only the attempts since the last change count.
		if first.Attempt == 0 || i > 0 && first.Image != attempts[i-1].Image {
			want.StartedAt = earlierOf(first.RequestedAt, first.StartedAt)
			dated = last.Image != Unknown
		}
	}
	switch last.Outcome {
	case Present:
		want.StartedAt = earlierOf(want.StartedAt, last.FinishedAt)
		want.AlreadyPresent = new(true)
	case Verified:
		want.AlreadyPresent = new(true)
	case Downloaded, Joined:
		want.AlreadyPresent = new(false)
	}
	if last.Outcome != Failed {
		want.FinishedAt = last.FinishedAt
	}
	return want, dated && !want.StartedAt.IsZero()
}

// earlierOf returns the instant "first". If this instant is unknown, earlierOf returns the instant "second".
func earlierOf(first, second time.Time) time.Time {
	if first.IsZero() {
		return second
	}
	return first
}
