package scenario

import (
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/otlp"
)

// The record states the time of a milestone as an interval. eventStamp is the largest accepted distance between this
// interval and the time of the milestone's Event. The API can truncate the time of an Event to seconds.
const eventStamp = time.Second

// Limits from docs/otlp.md for the kubelet's Events in the root span.
const (
	mostEvents   = 32
	longestWords = 256 // bytes
)

// If the kubelet combines several Events into one Event, the message of this Event starts with combinedMarker. The
// combined Event can be about several containers.
const combinedMarker = "(combined from similar events)"

// judgeEvents checks the kubelet's Events in the root span. The record bases some milestones of pulls on Events. The
// root span must contain these Events.
func (v *Verdict) judgeEvents(root otlp.Span, t agent.Timeline) {
	stated, err := agent.Nanoseconds(t.TotalError)
	if err != nil {
		v.Problem("record of %s: total_error_seconds: %v", t.Name, err)
	}
	if len(root.Events) > mostEvents {
		v.Problem("trace of %s: the root span has %d Events, want at most 32", t.Name, len(root.Events))
	}
	began := stretch{t.CreatedAt.Add(-stated - eventStamp), t.SettledAt}
	for i, e := range root.Events {
		words := e.Attributes["podlapse.message"]
		if e.Attributes["k8s.event.reason"] != e.Name || words == "" || len(words) > longestWords {
			v.Problem("trace of %s: Event %s must have its reason and a message of limited length, but has "+
				"attributes %v", t.Name, e.Name, e.Attributes)
		}
		if !began.holds(e.At) || i > 0 && e.At.Before(root.Events[i-1].At) {
			v.Problem("trace of %s: Event %s at %s is out of order or outside the start-up", t.Name, e.Name, e.At)
		}
	}
	for milestone, reason := range map[string]string{"pull_requested": "Pulling", "pull_finished": "Pulled"} {
		for _, m := range t.Milestones {
			if m.Milestone != milestone || m.Attempt > 0 || !slices.Contains(m.Sources, "event_watch") ||
				!startsWith(t, m.Container) {
				continue
			}
			v.requireEvent(root, t, m, reason)
		}
	}
}

// startsWith reports whether a container or an image volume is part of the start-up. Ephemeral containers are not part
// of the start-up.
func startsWith(t agent.Timeline, container string) bool {
	pull, known := t.PullOf(container)
	return known && pull.Kind != agent.Ephemeral
}

// requireEvent requires an Event for a milestone. The Event is allowed to be missing if the record lists it as lost, or
// if the root span already has the maximum number of Events.
func (v *Verdict) requireEvent(root otlp.Span, t agent.Timeline, m agent.Milestone, reason string) {
	if slices.Contains(t.LostEvents, reason+"/"+m.Container) || len(root.Events) == mostEvents {
		return
	}
	lies := stretch{m.Earliest.Add(-eventStamp), m.Latest.Add(eventStamp)}
	if m.Latest.IsZero() {
		lies.to = time.Time{}
	}
	container := m.Container
	if strings.HasPrefix(container, volumeImage) { // the Event names the image volume only in its message
		container = ""
	}
	for _, e := range root.Events {
		if e.Name == reason && e.Attributes["k8s.container.name"] == container && lies.holds(e.At) ||
			strings.HasPrefix(e.Attributes["podlapse.message"], combinedMarker) {
			return
		}
	}
	v.Problem("trace of %s: want an Event %s of %s between %s and %s, but found none", t.Name, reason, m.Container,
		lies.from, lies.to)
}
