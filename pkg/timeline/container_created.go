package timeline

// usedBy is the latest instant at which anything was first created from the image of a container or a volume. By then,
// the image was present. It is maxInstant if nothing was.
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

// createdBy is the latest instant at which a container was first created; maxInstant if it was not.
func (e *Evidence) createdBy(index int16) instant {
	created, _ := e.latest(milestoneKey{index, 0, MilestoneContainerCreated})
	ran, _ := e.latest(milestoneKey{index, 0, MilestoneRunning})
	return min(created, ran)
}

// createdSince is the earliest instant at which a container was created, or began to run if its creation is not
// dated: the kubelet does nothing else in between. It is maxInstant if unknown.
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

// createFailed reports whether the kubelet had a container's image but could not create the container.
func (e *Evidence) createFailed(index int16) bool {
	_, refused := e.latest(milestoneKey{index, 0, MilestoneConfigRefused})
	_, failed := e.latest(milestoneKey{index, 0, MilestoneCreateFailed})
	return refused || failed
}

func (e *Evidence) isVolume(index int16) bool {
	c := e.specOf(index)
	return c != nil && c.Kind == KindImageVolume
}

// specOf is the container in the spec that the evidence is about; nil if the spec has no container of that name.
func (e *Evidence) specOf(index int16) *Container {
	for i := range e.pod.Containers {
		if e.pod.Containers[i].Name == e.containers[index].name {
			return &e.pod.Containers[i]
		}
	}
	return nil
}
