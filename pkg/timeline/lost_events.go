package timeline

import "github.com/podlapse/podlapse/pkg/imagepull"

// lostEvents names the Events that the kubelet must have created but that never arrived although a watch was open
// that delivered everything. If a container runs, the kubelet has decided whether to pull its image, and reports each
// such decision with a Pulled Event. Before a pull, which the policy Always or the result proves, it creates a Pulling
// Event. The kubelet drops Events if it creates many about one pod (client-go, tools/record: 25, then one in five
// minutes), and if its queue is full.
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
			continue // it may still arrive
		}
		if c.PullPolicy == PullNever || c.PullPolicy != PullAlways && !e.mayBePulled(*c) {
			continue // no watch was opened for it
		}
		if e.hasImageEvent(c.Image) && e.only(c.Image) == nil {
			continue // it is unknown for how many of the containers that share the image it stands
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

// hasImageEvent reports whether an Event named an image without its container, as an Event that stands for several
// does.
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

// hasRequestEvent reports whether an Event reported the request for a pull, possibly of an earlier attempt: later
// requests raise the count of the same Event.
func (f *fold) hasRequestEvent(index int16) bool {
	return len(f.e.containers[index].requested) > 0 || len(f.pulls[index].laterRequests) > 0
}
