package timeline

import "github.com/podlapse/podlapse/pkg/imagepull"

// lostEvents names the Events that the kubelet made for certain and that never came, although a watch was open that told all
// there was: a container runs from its image, so the kubelet has decided to pull it or not, and says so each time with a
// Pulled Event; and before a pull, which the policy Always or what came proves, it says that it pulls. The kubelet drops
// Events when it makes many of one pod (client-go, tools/record: 25, then one in five minutes), and so does a queue that
// is full.
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
			continue // it may still come
		}
		if c.PullPolicy == PullNever || c.PullPolicy != PullAlways && !e.mayBePulled(*c) {
			continue // nobody waited for it with an open watch
		}
		if e.hasImageEvent(c.Image) && e.only(c.Image) == nil {
			continue // of which of those that share it, and how often, nobody tells
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

// hasImageEvent says that an Event told of an image without its container, as one that stands for several does.
func (e *Evidence) hasImageEvent(image string) bool {
	return e.indexOf(ImageName(image)) != podWide
}

// wasPulled says that the kubelet has pulled for a container that runs.
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

// hasRequestEvent says that an Event told of a pull being asked for, be it of an earlier attempt: later ones count up the
// same Event.
func (f *fold) hasRequestEvent(index int16) bool {
	return len(f.e.containers[index].requested) > 0 || len(f.pulls[index].laterRequests) > 0
}
