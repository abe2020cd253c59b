package timeline

// usedBy returns the latest possible time of the kubelet's first use of an image. The index selects a container or an
// image volume. If the kubelet has not used the image, usedBy returns maxInstant.
func (e *Evidence) usedBy(index int16) instant {
	if e.isVolume(index) {
		return e.volumeUsedBy(index)
	}
	return e.createdBy(index)
}

// createdBy returns the latest possible time of a container's first creation. If the container was not created,
// createdBy returns maxInstant.
func (e *Evidence) createdBy(index int16) instant {
	created, _ := e.latestTime(milestoneKey{index, 0, MilestoneContainerCreated})
	ran, _ := e.latestTime(milestoneKey{index, 0, MilestoneRunning})
	return min(created, ran)
}

// anyCreatedBy returns the latest possible time of the earliest known creation of a container, in any run. The runtime
// keeps only the latest runs of a container, so evidence about the first run can be missing. If no run is known,
// anyCreatedBy returns maxInstant.
func (e *Evidence) anyCreatedBy(index int16) instant {
	by := maxInstant
	for _, milestone := range [...]Milestone{MilestoneContainerCreated, MilestoneRunning} {
		key := milestoneKey{index, 0, milestone}
		for _, c := range e.constraints[searchConstraints(e.constraints, key):] {
			if c.key.container != index || c.key.milestone != milestone {
				break
			}
			by = min(by, c.latest)
		}
	}
	return by
}

// passedBy returns the latest possible time at which the kubelet continued with the containers after an init container
// or a sidecar. The kubelet does this only after the init container has succeeded or the sidecar has started. If no
// Event about the image of a later container is known, passedBy returns maxInstant.
func (e *Evidence) passedBy(index int16) instant {
	by, passed := maxInstant, false
	for i := range e.pod.Containers {
		c := &e.pod.Containers[i]
		own := e.indexNear(i, c.Name)
		switch {
		case own == podWide || c.Kind == KindEphemeral || c.Kind == KindImageVolume:
		case own == index:
			passed = c.Kind == KindInit || c.Kind == KindSidecar
		case passed:
			by = min(by, e.imageNamedBy(own))
		}
	}
	return by
}

// imageNamedBy returns the latest possible time of the first Event about a container's image, or maxInstant if no such
// Event is known. imageNamedBy ignores Events that the runtime's facts refute.
func (e *Evidence) imageNamedBy(index int16) instant {
	own, r, by := &e.containers[index], e.refuter(index), maxInstant
	if p, _ := r.firstCredible(own); p.known() {
		by = p.latest
	}
	for _, w := range own.requested {
		if r.tooEarly(w.latest) == "" {
			by = min(by, w.latest)
		}
	}
	return by
}

// createdSince returns the earliest possible time of a container's creation. If the creation has no timestamp,
// createdSince returns the earliest possible start of the container. The kubelet starts a container immediately after
// the creation, so the two times are almost equal. If both times are unknown, createdSince returns maxInstant.
func (e *Evidence) createdSince(index int16) instant {
	for _, milestone := range [...]Milestone{MilestoneContainerCreated, MilestoneRunning} {
		if since := e.earliestTime(milestoneKey{index, 0, milestone}); since != minInstant {
			return since
		}
	}
	return maxInstant
}

// createFailed reports whether the kubelet failed to create a container. At this step, the kubelet usually has the
// container's image already. The exception is ErrImageNeverPull: the image is absent, and the pull policy forbids a
// pull.
func (e *Evidence) createFailed(index int16) bool {
	_, refused := e.latestTime(milestoneKey{index, 0, MilestoneConfigRefused})
	_, failed := e.latestTime(milestoneKey{index, 0, MilestoneCreateFailed})
	return refused || failed
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
