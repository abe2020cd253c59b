package timeline

import (
	"slices"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// lostEvents returns the Events that the agent did not receive, although an Event watch was open and the kubelet must
// have created the Events. Before the kubelet starts a container, it reports in a Pulled Event that the image was
// present or was pulled. Before a pull, the kubelet also creates a Pulling Event. The pull policy "Always", or an
// outcome such as "downloaded", proves that a pull took place.
//
// The kubelet drops an Event if its queue of Events is full. After 25 Events about one pod, the kubelet sends only one
// further Event about this pod every five minutes, and drops all others (client-go, tools/record).
func (f *fold) lostEvents() []string {
	e := f.e
	if !e.watchLastOpened.isAfter(e.watchLost) {
		return nil
	}
	var lost []string
	for _, c := range f.containers {
		index := f.index(c.Name)
		used := e.usedBy(index)
		if used == maxInstant || f.asOf-used <= instant(eventGrace) {
			continue // the Event can still arrive
		}
		if !e.mayNeedPull(*c) {
			continue // the agent opens no Event watch for this container
		}
		if e.eventsMissedUntil() > max(0, e.workStart(c)) {
			continue // the Event can be older than the watch
		}
		if e.hasImageEvent(c.Image) && e.onlyContainerWith(c.Image) == nil {
			// Several containers use the image. The Event can concern any number of these containers.
			continue
		}
		pulled := f.pulls[index].pulled
		if f.wasPulled(c, index) && !f.hasRequestEvent(index) && e.pullEventsOf(index) == &e.containers[index] {
			lost = append(lost, "Pulling/"+c.Name)
		}
		if !pulled.known() && !f.pulls[index].maybeRestart && !f.pulls[index].refuted &&
			(c.Kind != KindImageVolume || !e.pullFailed(index)) { // maybe no container mounts the volume
			lost = append(lost, "Pulled/"+c.Name)
		}
	}
	return lost
}

// lacksEvents reports whether a pull's time is unattributed because of lost Events. After a limited number of Events
// about one pod, the kubelet's client drops Events by design. If the client might have reached this limit, lacksEvents
// returns false.
func (f *fold) lacksEvents(lost []string, phases []Span) bool {
	return len(lost) > 0 && !f.e.eventLimitReached() && slices.ContainsFunc(phases, func(s Span) bool {
		return s.Phase == PhaseUnattributed &&
			(slices.Contains(s.MergedWith, PhasePull) || slices.Contains(s.MergedWith, PhasePullQueue))
	})
}

// hasImageEvent reports whether an Event named an image but did not identify its container. An Event that combines
// several occurrences does not identify a container.
func (e *Evidence) hasImageEvent(image string) bool {
	return e.indexOf(ImageName(image)) != podWide
}

// wasPulled reports whether the kubelet has pulled the image of a running container.
func (f *fold) wasPulled(c *Container, index int16) bool {
	if pulled := f.pulls[index].pulled; pulled.known() {
		return !pulled.present
	}
	switch lastOutcome(f, c, index) {
	case imagepull.OutcomeDownloaded, imagepull.OutcomeVerified, imagepull.OutcomeJoined:
		return true
	}
	return c.PullPolicy == PullAlways
}

// hasRequestEvent reports whether an Event reported a request for a pull of the container's image. The Event can
// concern an earlier attempt, because later requests only increase the count of the first Event.
func (f *fold) hasRequestEvent(index int16) bool {
	return len(f.e.containers[index].requested) > 0
}
