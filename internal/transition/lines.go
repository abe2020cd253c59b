package transition

import (
	"path"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Lines returns the transition records of a start-up. The record of the pod comes first. The records of the containers
// follow, in the kubelet's order. The records of the image pulls come last. A pull whose start or image is unknown has
// no record.
func Lines(t timeline.Timeline, now time.Time) []any {
	if t.ClockWasSet() {
		t.ScheduledAt = time.Time{} // the clock was set, so no time can be compared with the creation time
	}
	about := Metrics{Partial: t.Partial, Labels: labelsOf(t)}
	pod := about
	pod.Type, pod.Pod = typePod, podOf(t)
	lines := []any{Record{pod, api.InstantOf(now)}}
	var previous *timeline.ContainerReached
	for i := range t.Containers {
		c := &t.Containers[i]
		if c.Kind == timeline.KindImageVolume { // an image volume is not a container
			continue
		}
		line := about.withContainer(c)
		line.Type, line.Container = typeContainer, containerOf(t, c, previous)
		lines = append(lines, Record{line, api.InstantOf(now)})
		previous = c
	}
	for i := range t.Containers {
		c := t.Containers[i]
		var pull *ImagePull
		if pull, c.Image = imagePullOf(t, c.Name); pull != nil {
			line := about.withContainer(&c)
			line.Type, line.ImagePull = typeImagePull, pull
			lines = append(lines, Record{line, api.InstantOf(now)})
		}
	}
	return lines
}

// withContainer sets the container and the image of a record.
func (m Metrics) withContainer(c *timeline.ContainerReached) Metrics {
	if c.Kind != timeline.KindImageVolume {
		m.ContainerName = c.Name
	}
	m.ImageName, m.ImageTag = imagepull.SplitReference(c.Image)
	if m.ImageName != "" {
		m.ShortImage = path.Base(m.ImageName)
	}
	return m
}

func podOf(t timeline.Timeline) *Pod {
	return &Pod{
		CreatedAt:              api.InstantOf(t.CreatedAt),
		ScheduledAt:            api.InstantOf(t.ScheduledAt),
		CreationToScheduled:    durationBetween(t.CreatedAt, t.ScheduledAt),
		InitializedAt:          api.InstantOf(t.InitializedAt),
		CreationToInitialized:  durationBetween(t.CreatedAt, t.InitializedAt),
		ScheduledToInitialized: durationBetween(t.ScheduledAt, t.InitializedAt),
		ReadyAt:                api.InstantOf(t.ReadyAt),
		CreationToReady:        durationBetween(t.CreatedAt, t.ReadyAt),
		InitializedToReady:     durationBetween(t.InitializedAt, t.ReadyAt),
	}
}

// containerOf returns the record of a container. The argument "previous" is the container before c in the kubelet's
// order, or nil for the first container.
func containerOf(t timeline.Timeline, c, previous *timeline.ContainerReached) *Container {
	r := &Container{InitContainer: c.BeforeMain(), RunningAt: api.InstantOf(c.RunningAt)}
	ready := c.ReadyAt
	if c.Kind == timeline.KindInit {
		ready = c.SucceededAt
	}
	r.ReadyAt, r.RunningToReady = api.InstantOf(ready), durationBetween(c.RunningAt, ready)
	if !r.InitContainer {
		r.InitializedToRunning = durationBetween(t.InitializedAt, c.RunningAt)
		r.StartedAt = api.InstantOf(c.StartedAt)
		r.RunningToStarted = durationBetween(c.RunningAt, c.StartedAt)
		r.StartedToReady = durationBetween(c.StartedAt, ready)
	} else if previous != nil {
		r.PreviousToRunning = durationBetween(previous.PassedAt(), c.RunningAt)
	}
	return r
}

// imagePullOf combines all attempts to pull a container's image into one ImagePull. The second result is the image. If
// the image changed, imagePullOf combines only the attempts since the last change. imagePullOf returns nil if the image
// is unknown, or if the start of the first attempt is unknown.
func imagePullOf(t timeline.Timeline, container string) (pull *ImagePull, image string) {
	var first, last *timeline.Pull
	for i := range t.Pulls {
		if p := &t.Pulls[i]; p.Container == container {
			if p.Attempt == 0 || last != nil && p.Image != last.Image {
				first = p
			}
			last = p
		}
	}
	if first == nil || last.Image == imagepull.UnknownImage {
		return nil, ""
	}
	r := &ImagePull{StartedAt: api.InstantOf(first.RequestedAt)}
	if r.StartedAt.IsZero() {
		r.StartedAt = api.InstantOf(first.StartedAt) // the time of the request is unknown
	}
	switch last.Outcome {
	case imagepull.OutcomePresent:
		r.AlreadyPresent = new(true)
		if r.StartedAt.IsZero() {
			r.StartedAt = api.InstantOf(last.FinishedAt) // the kubelet found the image on the node at this time
		}
	case imagepull.OutcomeVerified:
		r.AlreadyPresent = new(true)
	case imagepull.OutcomeDownloaded, imagepull.OutcomeJoined:
		r.AlreadyPresent = new(false)
	}
	if r.StartedAt.IsZero() {
		return nil, ""
	}
	if last.Outcome != imagepull.OutcomeFailed {
		r.FinishedAt, r.Duration = api.InstantOf(last.FinishedAt), durationBetween(r.StartedAt.Time, last.FinishedAt)
	}
	return r, last.Image
}

// durationBetween returns the duration between two times. durationBetween returns nil if a time is unknown, or if "to"
// is before "from". The time "to" can be before "from" if the sources of the two times contradict each other.
func durationBetween(from, to time.Time) *api.Seconds {
	if from.IsZero() || to.IsZero() || to.Before(from) {
		return nil
	}
	return new(api.Seconds(to.Sub(from)))
}
