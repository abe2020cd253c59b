package timeline

import (
	"slices"
	"time"
)

// spamLimit limits the Events about one pod. After spamLimit Events, the kubelet's client sends only one Event in each
// spamInterval, and drops all other Events (client-go, tools/record, defaultSpamBurst and defaultSpamQPS).
const (
	spamLimit    = 25
	spamInterval = 5 * time.Minute
)

// When the kubelet creates and starts a container, it creates Events with these reasons (pkg/kubelet/events in
// Kubernetes). This package takes no milestones from Created and Started Events, so an Event watch can leave them out.
// If the agent receives these Events, they count toward spamLimit. Before each run of a container, the kubelet also
// creates an Event with reasonPulled.
const (
	reasonCreated = "Created"
	reasonStarted = "Started"
	eventsPerRun  = 2
	reasonPulled  = "Pulled"
)

// countedEvent is one Event about the pod, with its number of occurrences. The reason and the time of the first
// occurrence identify the Event.
type countedEvent struct {
	reason  string
	firstAt instant
	count   int
}

// countEvent counts the kubelet's Events about the pod, up to spamLimit. It also keeps the time of the latest Event.
func (e *Evidence) countEvent(o EventSeen) {
	if last := latestOccurrence(o).latest; last > e.lastEventAt {
		e.lastEventAt, e.changed = last, true
	}
	if others, starts := e.receivedEvents(); others+starts >= spamLimit {
		return
	}
	event := countedEvent{o.Reason, firstOccurrence(o).latest, max(1, o.Count)}
	i := slices.IndexFunc(e.countedEvents, func(known countedEvent) bool {
		return known.reason == event.reason && known.firstAt == event.firstAt
	})
	switch {
	case i < 0:
		e.countedEvents, e.changed = append(e.countedEvents, event), true
	case e.countedEvents[i].count < event.count:
		e.countedEvents[i].count, e.changed = event.count, true
	}
}

// receivedEvents returns the number of received Events. The result "starts" is the number of Created and Started
// Events. The result "others" is the number of all other Events.
func (e *Evidence) receivedEvents() (others, starts int) {
	for _, event := range e.countedEvents {
		switch event.reason {
		case reasonCreated, reasonStarted:
			starts += event.count
		default:
			others += event.count
		}
	}
	return others, starts
}

// watchesEvents reports whether the agent has watched the Events about the pod, or has received one of them.
func (e *Evidence) watchesEvents() bool {
	return !e.watchFirstOpened.IsZero() || len(e.countedEvents) > 0
}

// eventLimitReached reports whether the kubelet's client might have dropped Events about the pod. An Event watch can
// leave out the Created and Started Events. So eventLimitReached also counts these two Events for each run that might
// have happened.
func (e *Evidence) eventLimitReached() bool {
	others, starts := e.receivedEvents()
	if others+starts >= spamLimit {
		return true
	}
	runs, checks := e.otherRuns, e.imageChecks()
	for i := range e.containers {
		runs += e.possibleRuns(int16(i))
		if e.createFailed(int16(i)) {
			checks = 0 // if the kubelet cannot create the container, no run follows the check
		}
	}
	return others+eventsPerRun*max(runs, checks) >= spamLimit
}

// imageChecks returns how often Events report that a container's image is present. After each such report, the kubelet
// tries to create and start the container.
func (e *Evidence) imageChecks() (checks int) {
	for _, event := range e.countedEvents {
		if event.reason == reasonPulled {
			checks += event.count
		}
	}
	for i := range e.containers {
		if c := &e.containers[i]; c.pulled.known() && isImageName(c.name) {
			checks -= 1 + len(c.laterPulled) // these Events concerned an image volume, and not a container
		}
	}
	return checks
}

// eventLimitProven reports whether the kubelet's client must have dropped later Events about the pod. For each run of a
// container, the kubelet creates two Events: Created and Started. eventLimitProven does not count runs from before the
// Event watch. The client's limit recovers with time, so the client might be able to send Events again.
func (e *Evidence) eventLimitProven() bool {
	others, starts := e.receivedEvents()
	runs := 0
	for i, c := range e.constraints {
		first := i == 0 || e.constraints[i-1].key != c.key
		if first && c.key.milestone == MilestoneRunning && (e.watchSince == 0 || c.earliest >= e.watchSince) {
			runs++
		}
	}
	return others+max(starts, eventsPerRun*runs) >= spamLimit
}

// possibleRuns returns the maximum number of runs that a container can have had so far. After a Pulled Event, the
// result is at least 1, because the kubelet might have started the container before any source reports the run. If the
// kubelet failed to create the container, possibleRuns ignores the Pulled Event.
func (e *Evidence) possibleRuns(index int16) int {
	c := &e.containers[index]
	runs := c.runs
	if c.pulled.known() && !isImageName(c.name) && !e.createFailed(index) {
		runs = max(runs, 1)
	}
	var counted milestoneKey
	count := 0 // number of attempts that reached counted.milestone
	for _, known := range e.constraints[searchConstraints(e.constraints, milestoneKey{container: index}):] {
		if known.key.container != index {
			break
		}
		if m := known.key.milestone; m != MilestoneContainerCreated && m != MilestoneRunning || known.key == counted {
			continue
		}
		if known.key.milestone != counted.milestone {
			count = 0
		}
		counted = known.key
		count++
		runs = max(runs, count)
	}
	return runs
}

// keepRuns keeps the highest number of recent runs from a container's statuses. keepRuns limits the number to
// spamLimit/eventsPerRun+1, because the kubelet creates more than spamLimit Events for so many runs.
func (e *Evidence) keepRuns(evidence *containerEvidence, c *Container, arrivedAt time.Time) {
	if runs := min(c.recentRuns(arrivedAt), spamLimit/eventsPerRun+1); runs > evidence.runs {
		evidence.runs, e.changed = runs, true
	}
}

// recentRuns returns how many runs of a container can count toward spamLimit. If the latest run started so long ago
// that the kubelet's client can send spamLimit Events again, the result is zero.
func (c *Container) recentRuns(at time.Time) int {
	started := c.StartedAt
	if started.IsZero() && c.LastRun != nil {
		started = c.LastRun.StartedAt
	}
	if !started.IsZero() && at.Sub(started) >= spamLimit*spamInterval {
		return 0
	}
	return c.statusRuns()
}

// statusRuns returns the number of a container's runs according to its status.
func (c *Container) statusRuns() int {
	if c.hasRun() || c.LastRun != nil || c.Attempt > 0 {
		return c.Attempt + 1
	}
	return 0
}
