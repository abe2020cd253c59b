package scenario

import (
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/otlp"
)

// eventStamp is how far an Event's time can be from what it tells: it may be floored to a second.
const eventStamp = time.Second

// Bounds on what is told of kubelet's words, as documented.
const (
	mostEvents   = 32
	longestWords = 256 // bytes
)

// combined begins the words of an Event into which kubelet put others, of other containers too.
const combined = "(combined from similar events)"

// said wants kubelet's Events on the root: those that the record's milestones are from, and what kubelet said of any container before
// the last of these, for until then an Event watch was open.
func (v *Verdict) stated(root otlp.Span, t agent.Timeline) {
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
			v.Problem("trace of %s: Event %s has the attributes %v", t.Name, e.Name, e.Attributes)
		}
		if !began.holds(e.At) || i > 0 && e.At.Before(root.Events[i-1].At) {
			v.Problem("trace of %s: Event %s at %s, out of order or outside of the start-up", t.Name, e.Name, e.At)
		}
	}
	var until time.Time // an Event watch was open
	for milestone, reason := range map[string]string{"pull_requested": "Pulling", "pull_finished": "Pulled"} {
		for _, m := range t.Milestones {
			if m.Milestone != milestone || m.Attempt > 0 || !slices.Contains(m.Sources, "event_watch") || !startsWith(t, m.Container) {
				continue
			}
			v.heard(root, t, m, reason)
			if m.Earliest.After(until) {
				until = m.Earliest
			}
		}
	}
	for milestone, reason := range map[string]string{"container_created": "Created", "running": "Started"} {
		for _, m := range t.Milestones {
			if m.Milestone == milestone && m.Attempt == 0 && !m.Latest.IsZero() && m.Latest.Add(eventStamp).Before(until) {
				v.heard(root, t, m, reason)
			}
		}
	}
}

// startsWith says that a container, or the image of a volume, is part of the start-up: an ephemeral container is not.
func startsWith(t agent.Timeline, container string) bool {
	pull, known := t.PullOf(container)
	return known && pull.Kind != agent.Ephemeral
}

// heard wants an Event that tells of a milestone, unless the record says that it was lost.
func (v *Verdict) heard(root otlp.Span, t agent.Timeline, m agent.Milestone, reason string) {
	if slices.Contains(t.LostEvents, reason+"/"+m.Container) || len(root.Events) == mostEvents {
		return
	}
	lies := stretch{m.Earliest.Add(-eventStamp), m.Latest.Add(eventStamp)}
	if m.Latest.IsZero() {
		lies.to = time.Time{}
	}
	container := m.Container
	if strings.HasPrefix(container, volumeImage) { // which kubelet tells of in words alone
		container = ""
	}
	for _, e := range root.Events {
		if e.Name == reason && e.Attributes["k8s.container.name"] == container && lies.holds(e.At) ||
			strings.HasPrefix(e.Attributes["podlapse.message"], combined) {
			return
		}
	}
	v.Problem("trace of %s: no Event %s of %s from %s to %s", t.Name, reason, m.Container, lies.from, lies.to)
}
