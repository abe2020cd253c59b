package timeline

import "github.com/podlapse/podlapse/pkg/imagepull"

// lostEvents returns Events that the kubelet must have created but that never arrived, although a watch for these
// Events was open. If a container runs, the kubelet has decided whether to pull its image. The kubelet reports each
// such decision with a Pulled Event. Before a pull, the kubelet creates a Pulling Event. The pull policy "Always", or
// the result of the pull, proves that there was a pull. The kubelet drops Events in two cases. Either its queue is
// full, or it has created more than 25 Events about one pod. In the second case, it sends only one Event in five
// minutes (client-go, tools/record).
func (f *fold) lostEvents() []string {
	e := f.e
	if e.watchLastOpened <= e.watchLost {
		return nil
	}
	var lost []string
	for _, c := range f.containers {
		index := f.index(c.Name)
		used := e.usedBy(index)
		if used == maxInstant || f.asOf-used <= instant(eventGrace) {
			continue // the Event can still arrive
		}
		if c.PullPolicy == PullNever || c.PullPolicy != PullAlways && !e.mayBePulled(*c) {
			continue // no watch was opened for this container
		}
		if e.eventsMissedUntil() > max(0, e.workStart(c)) {
			continue // the Event can be older than the watch
		}
		if e.hasImageEvent(c.Image) && e.only(c.Image) == nil {
			// Several containers share the image, and it is unknown how many of them the Event represents.
			continue
		}
		pulled := f.pulls[index].pulled
		if f.wasPulled(c, index) && !f.hasRequestEvent(index) && e.pullEventsOf(index) == &e.containers[index] {
			lost = append(lost, "Pulling/"+c.Name)
		}
		if !pulled.known() && !f.pulls[index].maybeRestart && !f.pulls[index].refuted {
			lost = append(lost, "Pulled/"+c.Name)
		}
	}
	return lost
}

// hasImageEvent reports whether an Event named an image without its container. An Event that combines several
// occurrences names no container.
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

// hasRequestEvent reports whether an Event reported the request for a pull, possibly for an earlier attempt.
// Later requests increase the count of the same Event.
func (f *fold) hasRequestEvent(index int16) bool {
	return len(f.e.containers[index].requested) > 0 || len(f.pulls[index].laterRequests) > 0
}
