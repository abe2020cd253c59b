package otlp

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// containerLife holds the times of one container. The times come from the milestones of a timeline.
type containerLife struct {
	name           string
	begun          time.Time // earliest known creation or start of the container
	ready          time.Time // latest time at which a run became ready; zero if no run became ready
	finished       time.Time // end of the latest run that ended
	runs           int       // number of the latest run, from 0
	finishedOfRuns int       // number of the latest run that ended, from 0
}

// containersOf returns a span for each created container. The span starts with the container's creation and ends when
// the container is ready. If the container was never ready, for example an init container, the span ends when the
// latest run ends. If the latest run has not ended either, the span ends when the start-up ends.
func containersOf(t timeline.Timeline) []span {
	var spans []span
	for _, c := range livesOf(t.Milestones) {
		attributes := append(podOf(t),
			attribute.String(keyKind, kindContainer),
			containerOf(c.name),
			semconv.K8SContainerRestartCount(c.runs),
		)
		end := c.ready
		if end.IsZero() && c.finishedOfRuns == c.runs {
			end = c.finished
		}
		if end.IsZero() {
			end = t.SettledAt
			attributes = append(attributes, attribute.Bool(keyOpen, true))
		}
		if end.Before(c.begun) {
			continue // the end is before the start, because the timeline contains a conflict
		}
		for _, p := range t.Pulls {
			if p.Container == c.name {
				attributes = append(attributes, imageOf(p.Image)...)
				break
			}
		}
		spans = append(spans, span{
			key: kindContainer + "/" + c.name, name: validText("container " + c.name), start: c.begun, end: end,
			attributes: withoutEmpty(attributes...),
		})
	}
	return spans
}

// livesOf collects the milestones of each created container.
func livesOf(milestones []timeline.MilestoneEvidence) []*containerLife {
	var lives []*containerLife
	byName := map[string]*containerLife{}
	for _, m := range milestones {
		if m.Container == "" || m.At.IsZero() {
			continue
		}
		c := byName[m.Container]
		if c == nil {
			c = &containerLife{name: m.Container}
			byName[m.Container] = c
			lives = append(lives, c)
		}
		c.add(m)
	}
	return slices.DeleteFunc(lives, func(c *containerLife) bool { return c.begun.IsZero() })
}

func (c *containerLife) add(m timeline.MilestoneEvidence) {
	switch m.Milestone {
	case timeline.MilestoneContainerCreated, timeline.MilestoneRunning:
		if c.begun.IsZero() || m.At.Before(c.begun) {
			c.begun = m.At
		}
		c.runs = max(c.runs, m.Attempt)
	case timeline.MilestoneContainerReady:
		if m.At.After(c.ready) {
			c.ready = m.At
		}
	case timeline.MilestoneFinished:
		if m.At.After(c.finished) {
			c.finished, c.finishedOfRuns = m.At, max(c.finishedOfRuns, m.Attempt)
		}
	}
}
