package timeline

import (
	"cmp"
	"slices"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// When a container's image changes, the kubelet stops the container's run, waits for no back-off, and pulls the new
// image, at times that the evidence does not show. In simple cases, the Events show which attempt concerns which image.
// In all other cases, the phases of the container are unattributed.

// phasesOfChange lists the phases that can hide in each other after a container's image changed.
func phasesOfChange() []Phase {
	return []Phase{PhaseKubeletSync, PhasePullQueue, PhasePull, PhaseUnpack, PhaseImageBackoff, PhaseContainerCreate}
}

// findUnclearChanges finds the containers for which the evidence does not show which phases belong to which image. A
// container's changes are unclear if its image changed and one of these conditions is true:
//   - The agent did not observe the change, and knows of it only from an Event about another image.
//   - The container has its earlier image again.
//   - The container ran before the change, or more than once.
//   - Several requests for different images were repeated, so that their Events have the same counts.
//
// If two containers shared an image, and the image of one of them changed, the changes of both are unclear: the kubelet
// keeps one back-off for each image of a pod.
func (f *fold) findUnclearChanges() {
	var changed []*Container
	for _, c := range f.containers {
		if f.hasChanged(c) {
			changed = append(changed, c)
		}
	}
	for _, c := range changed {
		index := f.index(c.Name)
		if f.changedUnclearly(index, c) {
			f.setUnclear(index)
		}
		for _, o := range f.containers {
			if other := f.index(o.Name); other != podWide && other != index && f.e.shareImage(index, other) {
				f.setUnclear(index)
				f.setUnclear(other)
			}
		}
	}
}

func (f *fold) setUnclear(index int16) {
	if f.unclear == nil {
		f.unclear = make([]bool, len(f.e.containers))
	}
	f.unclear[index] = true
}

// changesUnclear reports whether findUnclearChanges has found the container.
func (f *fold) changesUnclear(c *Container) bool {
	index := f.index(c.Name)
	return f.unclear != nil && index != podWide && f.unclear[index]
}

// shareImage reports whether the specs of two containers ever named the same image.
func (e *Evidence) shareImage(a, b int16) bool {
	return slices.ContainsFunc(e.containers[a].images, func(image observedImage) bool {
		return slices.ContainsFunc(e.containers[b].images, func(o observedImage) bool { return o.ref == image.ref })
	})
}

// hasChanged reports whether a container's image changed, or an Event names another image than the container's.
func (f *fold) hasChanged(c *Container) bool {
	index := f.index(c.Name)
	if index == podWide {
		return false
	}
	e := &f.e.containers[index]
	switch {
	case e.imageChanged():
		return true
	case len(e.requested)+len(e.failures) == 0:
		return false
	}
	latest := textHash(c.Image)
	return slices.ContainsFunc(e.requested, func(r requestEvent) bool { return r.image != latest }) ||
		slices.ContainsFunc(e.failures, func(failed failureEvent) bool { return failed.image != latest })
}

// changedUnclearly reports whether the changes of a container's image are unclear for other reasons than an image that
// the container shares.
func (f *fold) changedUnclearly(index int16, c *Container) bool {
	e := &f.e.containers[index]
	return !e.imageChanged() || f.ranBefore(index, e.newestImage().at) || f.attemptsUnclear(index, c)
}

// newestImage returns the image whose first spec arrived last.
func (c *containerEvidence) newestImage() observedImage {
	return slices.MaxFunc(c.images, func(a, b observedImage) int { return cmp.Compare(a.at, b.at) })
}

// attemptsUnclear reports whether the evidence does not show which attempt concerns which image.
func (f *fold) attemptsUnclear(index int16, c *Container) bool {
	e := &f.e.containers[index]
	if !e.imageChanged() {
		return false
	}
	if e.newestImage().ref != c.Image {
		return true
	}
	for i, r := range e.requested {
		if r.count > 1 && i > 0 || r.count > 1 && i+1 < len(e.requested) && f.repeatedAfter(index, e.requested[i+1]) {
			return true
		}
	}
	return false
}

// ranBefore reports whether a container might have run before an instant, or has run more than once.
func (f *fold) ranBefore(index int16, changed instant) bool {
	if f.lastAttempt(index, MilestoneContainerCreated, MilestoneRunning, MilestoneFinished) > 0 {
		return true
	}
	for _, m := range []Milestone{MilestoneContainerCreated, MilestoneRunning, MilestoneFinished} {
		if b := f.bounds.find(milestoneKey{index, 0, m}); b != nil && b.earliest < changed {
			return true
		}
	}
	return false
}

// repeatedAfter reports whether the kubelet repeated an earlier request after a request for another image.
func (f *fold) repeatedAfter(index int16, next requestEvent) bool {
	return slices.ContainsFunc(f.pulls[index].requests, func(r imageRequest) bool {
		return r.key.attempt > 0 && r.image == next.image && r.origin == originEventSecond && r.latest > next.latest
	})
}

// blurChanges makes the phases of each container whose changes are unclear unattributed. Phases that one source reports
// from the beginning to the end stay. The phases of the whole pod are unaffected.
func (f *fold) blurChanges(t *Timeline) {
	for _, c := range f.containers {
		if !f.changesUnclear(c) {
			continue
		}
		for i := range t.Phases {
			if s := &t.Phases[i]; s.Container == c.Name && !f.isReported(*s) {
				s.blur()
			}
		}
	}
}

// isReported reports whether a span is the start of a container, or a part of a pull that ended according to an Event.
func (f *fold) isReported(s Span) bool {
	switch s.Phase {
	case PhaseContainerStart: // the runtime reports both ends
		return true
	case PhasePullQueue, PhasePull, PhaseUnpack, PhaseImagePull:
		p := &f.pulls[f.index(s.Container)]
		return !s.Open && p.pulled.known() && !p.pulled.present && s.Attempt == int(p.finalAttempt)
	}
	return false
}

// clearAttempts returns the attempts to pull a container's image that certainly happened. If the changes of the image
// are unclear, these are only the attempts that Events name. If the attempts are unclear too, the result is one unknown
// attempt.
func (f *fold) clearAttempts(c *Container, attempts []pullAttempt) []pullAttempt {
	if !f.changesUnclear(c) {
		return attempts
	}
	index := f.index(c.Name)
	last := attempts[len(attempts)-1]
	named := slices.DeleteFunc(slices.Clone(attempts), func(a pullAttempt) bool {
		return f.pulls[index].imageNamed(a.attempt) == 0
	})
	if len(named) == 0 || f.attemptsUnclear(index, c) {
		return []pullAttempt{{attempt: last.attempt, outcome: imagepull.OutcomeUnknown}}
	}
	return named
}

// blur makes a span unattributed, with its own phases and phasesOfChange as candidates.
func (s *Span) blur() {
	own := s.MergedWith
	if !s.Phase.IsGroup() {
		own = append([]Phase{s.Phase}, own...)
	}
	s.Phase, s.Cause, s.MergedWith = PhaseUnattributed, CauseUnknown, uniquePhases(own, phasesOfChange())
}

// pullBeforeRestart returns the phases of pulls that can be a part of the time before a container's next run. The
// kubelet checks or pulls the image at an unknown time if the policy is Always, or if the image changed. If a pull of
// the image ever failed, these phases include the back-off.
func (f *fold) pullBeforeRestart(c *Container, index int16) []Phase {
	e := &f.e.containers[index]
	switch {
	case c.PullPolicy != PullAlways && !e.imageChanged():
		return nil
	case len(e.failures) > 0 || len(e.statusReasons) > 0:
		return []Phase{PhasePull, PhasePullQueue, PhaseImageBackoff}
	}
	return alsoPull
}
