package otlp

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// containerLife holds the instants of one container, from a timeline's milestones.
type containerLife struct {
	name           string
	begun          time.Time // its first run was created or, if unknown, started
	ready          time.Time // in its latest run that became ready; zero if never
	finished       time.Time // the latest end of a run
	runs           int       // number of the latest run, from 0
	finishedOfRuns int       // number of the latest run that ended, from 0
}

// containersOf returns a span for each created container: from its creation until it was ready. If it never became
// ready but ended, as init containers do, the span lasts until the end of its latest run; otherwise until the end of
// the start-up.
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
			continue // out of order: a conflict says why
		}
		for _, p := range t.Pulls {
			if p.Container == c.name {
				attributes = append(attributes, imageOf(p.Image)...)
				break
			}
		}
		spans = append(spans, span{
			key: kindContainer + "/" + c.name, name: valid("container " + c.name), start: c.begun, end: end,
			attributes: known(attributes...),
		})
	}
	return spans
}

// livesOf gathers the milestones of each container that was created.
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
	created := lives[:0]
	for _, c := range lives {
		if !c.begun.IsZero() {
			created = append(created, c)
		}
	}
	return created
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
