package timeline

// usedBy returns the latest possible time at which the kubelet first used the image of a container or of an image
// volume. The kubelet first uses an image volume when it creates the pod's first container. usedBy returns maxInstant
// if the kubelet has not used the image.
func (e *Evidence) usedBy(index int16) instant {
	if e.isVolume(index) {
		end := maxInstant
		for i := range e.containers {
			end = min(end, e.createdBy(int16(i)))
		}
		return end
	}
	return e.createdBy(index)
}

// createdBy returns the latest possible time of a container's first creation, or maxInstant if the container was
// not created.
func (e *Evidence) createdBy(index int16) instant {
	created, _ := e.latestTime(milestoneKey{index, 0, MilestoneContainerCreated})
	ran, _ := e.latestTime(milestoneKey{index, 0, MilestoneRunning})
	return min(created, ran)
}

// createdSince returns the earliest possible time of a container's creation, or maxInstant if unknown. If the creation
// has no timestamp, createdSince returns the earliest possible start of the container. The kubelet starts a container
// immediately after the creation, so the two times are almost equal.
func (e *Evidence) createdSince(index int16) instant {
	for _, milestone := range [...]Milestone{MilestoneContainerCreated, MilestoneRunning} {
		since := minInstant
		for _, known := range e.constraints {
			if known.key == (milestoneKey{index, 0, milestone}) {
				since = max(since, known.earliest)
			}
		}
		if since != minInstant {
			return since
		}
	}
	return maxInstant
}

// createFailed reports whether the kubelet failed to create a container. Usually, the kubelet already had the
// container's image. The exception is ErrImageNeverPull: the image is absent, and the pull policy forbids a pull.
func (e *Evidence) createFailed(index int16) bool {
	_, refused := e.latestTime(milestoneKey{index, 0, MilestoneConfigRefused})
	_, failed := e.latestTime(milestoneKey{index, 0, MilestoneCreateFailed})
	return refused || failed
}

func (e *Evidence) isVolume(index int16) bool {
	c := e.specOf(index)
	return c != nil && c.Kind == KindImageVolume
}

// specOf returns a container's entry in the pod's spec, or nil if the spec does not contain the container's
// name.
func (e *Evidence) specOf(index int16) *Container {
	for i := range e.pod.Containers {
		if e.pod.Containers[i].Name == e.containers[index].name {
			return &e.pod.Containers[i]
		}
	}
	return nil
}
