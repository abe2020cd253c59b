package scenario

import (
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/otlp"
)

// eventStamp is the largest difference between an Event's time and the time of its subject, because the Event's time
// may be truncated to seconds.
const eventStamp = time.Second

// Limits for the kubelet's messages, as documented.
const (
	mostEvents   = 32
	longestWords = 256 // bytes
)

// combined is the start of an Event's message if the kubelet combined several Events, possibly of several containers.
const combined = "(combined from similar events)"

// judgeEvents requires the kubelet's Events on the root span: those on which the record's milestones are based, and
// those about any container before the last of these, because an Event watch was open until then.
func (v *Verdict) judgeEvents(root otlp.Span, t agent.Timeline) {
	stated, err := agent.Nanoseconds(t.TotalError)
	if err != nil {
		v.Problem("record of %s: total_error_seconds: %v", t.Name, err)
	}
	if len(root.Events) > mostEvents {
		v.Problem("trace of %s: %d Events", t.Name, len(root.Events))
	}
	began := stretch{t.CreatedAt.Add(-stated - eventStamp), t.SettledAt}
	for i, e := range root.Events {
		words := e.Attributes["podlapse.message"]
		if e.Attributes["k8s.event.reason"] != e.Name || words == "" || len(words) > longestWords {
			v.Problem("trace of %s: Event %s has invalid attributes: %v", t.Name, e.Name, e.Attributes)
		}
		if !began.holds(e.At) || i > 0 && e.At.Before(root.Events[i-1].At) {
			v.Problem("trace of %s: Event %s at %s is out of order or outside the start-up", t.Name, e.Name, e.At)
		}
	}
	var until time.Time // until when an Event watch was open
	for milestone, reason := range map[string]string{"pull_requested": "Pulling", "pull_finished": "Pulled"} {
		for _, m := range t.Milestones {
			if m.Milestone != milestone || m.Attempt > 0 || !slices.Contains(m.Sources, "event_watch") ||
				!startsWith(t, m.Container) {
				continue
			}
			v.requireEvent(root, t, m, reason)
			if m.Earliest.After(until) {
				until = m.Earliest
			}
		}
	}
	for milestone, reason := range map[string]string{"container_created": "Created", "running": "Started"} {
		for _, m := range t.Milestones {
			if m.Milestone == milestone && m.Attempt == 0 && !m.Latest.IsZero() &&
				m.Latest.Add(eventStamp).Before(until) {
				v.requireEvent(root, t, m, reason)
			}
		}
	}
}

// startsWith reports whether a container, or the image of a volume, is part of the start-up. An ephemeral container is
// not.
func startsWith(t agent.Timeline, container string) bool {
	pull, known := t.PullOf(container)
	return known && pull.Kind != agent.Ephemeral
}

// requireEvent requires an Event for a milestone, unless the record lists it as lost.
func (v *Verdict) requireEvent(root otlp.Span, t agent.Timeline, m agent.Milestone, reason string) {
	if slices.Contains(t.LostEvents, reason+"/"+m.Container) || len(root.Events) == mostEvents {
		return
	}
	lies := stretch{m.Earliest.Add(-eventStamp), m.Latest.Add(eventStamp)}
	if m.Latest.IsZero() {
		lies.to = time.Time{}
	}
	container := m.Container
	if strings.HasPrefix(container, volumeImage) { // the kubelet's message is the only evidence
		container = ""
	}
	for _, e := range root.Events {
		if e.Name == reason && e.Attributes["k8s.container.name"] == container && lies.holds(e.At) ||
			strings.HasPrefix(e.Attributes["podlapse.message"], combined) {
			return
		}
	}
	v.Problem("trace of %s: no Event %s of %s between %s and %s", t.Name, reason, m.Container, lies.from, lies.to)
}
