package timeline

// usedBy is when at the latest something was made from the image of a container, or of a volume: it was there then.
// It is maxInstant while nothing was.
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

// createdBy is when at the latest a container was made for the first time; maxInstant while it was not.
func (e *Evidence) createdBy(index int16) instant {
	created, _ := e.latest(markKey{index, 0, MarkContainerCreated})
	ran, _ := e.latest(markKey{index, 0, MarkRunning})
	return min(created, ran)
}

// createdSince is when at the earliest a container was made, or began to run if nobody tells when it was made: the kubelet does
// nothing else in between. It is maxInstant while that is not known.
func (e *Evidence) createdSince(index int16) instant {
	for _, mark := range [...]Mark{MarkContainerCreated, MarkRunning} {
		since := minInstant
		for _, known := range e.constraints {
			if known.key == (markKey{index, 0, mark}) {
				since = max(since, known.earliest)
			}
		}
		if since != minInstant {
			return since
		}
	}
	return maxInstant
}

// createFailed says that the kubelet had a container's image, and could not make the container.
func (e *Evidence) createFailed(index int16) bool {
	_, refused := e.latest(markKey{index, 0, MarkConfigRefused})
	_, failed := e.latest(markKey{index, 0, MarkCreateFailed})
	return refused || failed
}

func (e *Evidence) isVolume(index int16) bool {
	c := e.specOf(index)
	return c != nil && c.Kind == KindImageVolume
}

// specOf is the container of the pod that evidence is about; nil if the pod has none of that name.
func (e *Evidence) specOf(index int16) *Container {
	for i := range e.pod.Containers {
		if e.pod.Containers[i].Name == e.containers[index].name {
			return &e.pod.Containers[i]
		}
	}
	return nil
}
