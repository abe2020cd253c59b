package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// pulledOnceWithin is the maximum difference between the timestamps of an image that was pulled once. After the pull,
// containerd writes the image again under its other names (internal/cri/server/images, PullImage). A second pull of the
// image takes longer than pulledOnceWithin, because the runtime asks the registry. containerd of 2023 or earlier, such
// as 1.6.20, also writes the image a second time under its own name, after two commits of its database. So on a slow
// disk, one pull can look like two pulls. A longer limit would be wrong, because a near registry can answer a second
// pull within the time of two slow commits.
const pulledOnceWithin = 5 * time.Millisecond

// pulledOnce reports whether the runtime pulled the image exactly once.
func (i *imageEvidence) pulledOnce() bool {
	return !i.last.PulledAt.IsZero() && i.last.PulledAt.Sub(i.last.FirstPulledAt) < pulledOnceWithin
}

// layerConstraints finds the layers that a container's pull downloaded. From the timestamps in the runtime's stores,
// layerConstraints derives the start of the pull and the arrival of the last byte.
func (f *fold) layerConstraints(c *Container) []constraint {
	index, image := f.index(c.Name), f.pulledImage(c.Name)
	if index == podWide || image == nil || image.withLayers == nil {
		return nil
	}
	p, final := f.pulls[index].pulled, f.pulls[index].finalAttempt
	if p.present || !p.known() && (!image.wasAbsent() || f.e.foundPresent(c, image)) {
		return nil
	}
	resolved := image.withLayers.ResolvedAt
	var constraints []constraint
	began := maxInstant
	timed := p.known() && p.lengths.Timed
	mayBeOwn := !timed && final == 0 && image.wasAbsent() && image.pulledOnce() &&
		f.e.onlyContainerWith(c.Image) != nil && f.e.sandboxRan()
	mayBeOwn = mayBeOwn && !resolved.IsZero() && at(resolved) >= f.e.workStart(c)
	f.pulls[index].hidesFailure = mayBeOwn && !(p.known() && f.knowsAllEvents()) &&
		f.mayHideFailure(index, resolved, image.last.PulledAt)
	if mayBeOwn && !f.pulls[index].hidesFailure &&
		(p.known() || !f.mayStartWorkLater(c, index, at(image.last.PulledAt))) {
		// The manifest arrived after the kubelet started work on this container, so the manifest belongs to this pull.
		// The layers do not show when the pull started, because they might have been present under another image name.
		// No evidence shows how long the registry took to send the manifest. So the start of the pull has no lower
		// bound.
		constraints = append(constraints,
			constraint{milestoneKey{index, final, MilestonePullStarted}, originStore, biasLatest, minInstant,
				at(resolved)},
			point(milestoneKey{index, final, MilestonePullResolved}, originStore, resolved))
		began = at(resolved)
	}
	if timed {
		began = p.beganAt()
	}
	switch {
	case began == maxInstant, // the layers can belong to an earlier pull
		// The reported duration can include the run of a credential plugin. During this run, another pod might have
		// pulled the image, so the layers can belong to that pull.
		timed && !f.e.kubelet133 && !image.pulledOnce(),
		image.withLayers.undatedSince(began): // a layer without a timestamp might have arrived last
		f.pulls[index].layersUndated = true
		return constraints
	}
	layers := layersSince(image.withLayers.Layers, began)
	if len(layers) > 0 && image.withLayers.usesRegistryAfter(lastDownload(layers)) {
		// The evidence does not show how much time the registry needed and how much time the unpacking needed.
		f.pulls[index].layersUndated = true
		return constraints
	}
	last := lastDownload(layers)
	if last.IsZero() {
		// An earlier pull downloaded the layers, for example a pull that was canceled when the kubelet restarted. If
		// this pull unpacked some of the layers, the evidence does not show how long the unpacking took.
		f.pulls[index].layersUndated = image.unpackedSince(began)
		return constraints
	}
	if at(last) > p.endedBy(image) {
		// The last layer arrived after the end of this pull. So the runtime had discarded this layer, and then
		// downloaded the layer again for another image.
		f.pulls[index].layersUndated = true
		return constraints
	}
	f.pulls[index].layers = layers
	f.pulls[index].resumed = timed && !resolved.IsZero() && at(resolved) < p.beganAfter()
	return append(constraints, point(milestoneKey{index, final, MilestonePullDownloaded}, originStore, last))
}

// endedBy returns the latest possible end of a pull. All layers of the pull arrived before the end of the pull. If no
// Event reports the end of the pull, endedBy returns the runtime's timestamp of the image's latest pull.
func (p pulledEvent) endedBy(image *imageEvidence) instant {
	switch {
	case p.known():
		return p.latest
	case image.last.PulledAt.IsZero():
		return maxInstant
	}
	return at(image.last.PulledAt)
}

// beganAfter returns the earliest possible start of a pull, from the duration that the kubelet reported.
func (p pulledEvent) beganAfter() instant {
	return p.earliest - instant(p.lengths.Pull+p.lengths.Unit+durationSlack)
}

// unpackedSince reports whether the runtime unpacked a layer of an image at or after the given instant. The runtime
// does not unpack a layer that it mounts from the registry (Layer.Remote).
func (i *imageEvidence) unpackedSince(began instant) bool {
	return slices.ContainsFunc(i.withLayers.Layers, func(l Layer) bool {
		return !l.Remote && !l.UnpackedAt.IsZero() && at(l.UnpackedAt) >= began
	})
}

// nothingCameSince reports whether all layers of an image were certainly present before the given instant.
func (i *imageEvidence) nothingCameSince(began instant) bool {
	if i.withLayers == nil || len(i.withLayers.Layers) == 0 {
		return false
	}
	return !slices.ContainsFunc(i.withLayers.Layers, func(l Layer) bool { return !l.thereBefore(began) })
}

// thereBefore reports whether a layer was present before an instant. If the download has no timestamp, for example
// because the runtime deleted the layer's blob, the time of the unpacking counts.
func (l *Layer) thereBefore(then instant) bool {
	came := l.DownloadedAt
	if came.IsZero() {
		came = l.UnpackedAt
	}
	return !came.IsZero() && at(came) < then
}

// undatedSince reports whether a layer without a timestamp might have arrived after an instant.
func (i *Image) undatedSince(began instant) bool {
	return i.Incomplete && len(i.Layers) == 0 || slices.ContainsFunc(i.Layers, func(l Layer) bool {
		return l.DownloadedAt.IsZero() && !l.Remote && !l.thereBefore(began)
	})
}

// layersKnown reports whether the runtime reports any layers of an image, or the time when its manifest arrived.
func (i *Image) layersKnown() bool { return len(i.Layers) > 0 || !i.ResolvedAt.IsZero() }

// layersSince returns the layers that arrived at or after an instant.
func layersSince(layers []Layer, since instant) []Layer {
	return slices.DeleteFunc(slices.Clone(layers),
		func(l Layer) bool { return l.DownloadedAt.IsZero() || at(l.DownloadedAt) < since })
}

func lastDownload(layers []Layer) (last time.Time) {
	for _, l := range layers {
		last = later(l.DownloadedAt, last)
	}
	return last
}

// startedBy reports whether only the arrival of the manifest shows when a pull started. Before the manifest arrived,
// the pull might have waited in the queue or for a slow registry.
func (f *fold) startedBy(index int16, attempt uint16) bool {
	return f.bounds.find(milestoneKey{index, attempt, MilestonePullResolved}) != nil
}

// mayHoldUnpacking reports whether a pull can include unpacking that took an unknown time. For such a pull, the
// evidence does not show how much time the registry needed and how much time the disk needed. mayHoldUnpacking also
// returns true for an attempt that might have failed during unpacking, and for a requested attempt without a known end.
func (f *fold) mayHoldUnpacking(c *Container, a pullAttempt) bool {
	switch a.outcome {
	case imagepull.OutcomeVerified:
		return false
	case imagepull.OutcomeFailed:
		return a.failure == imagepull.FailureNoSpace || a.failure == imagepull.FailureCancelled ||
			a.failure == imagepull.FailureOther
	}
	index := f.index(c.Name)
	p := &f.pulls[index]
	if f.bounds.find(milestoneKey{index, a.attempt, MilestonePullFinished}) == nil {
		return a.attempt == p.finalAttempt && f.e.usedBy(index) == maxInstant &&
			(a.outcome == imagepull.OutcomePulling || a.outcome == imagepull.OutcomeUnknown) &&
			f.bounds.find(milestoneKey{index, a.attempt, MilestonePullRequested}) != nil
	}
	image := f.pulledImage(c.Name)
	return image == nil || image.withLayers == nil || !image.withLayers.layersKnown() || p.layersUndated
}

// addLayers adds the layers that a pull downloaded, and the time when the last byte of these layers arrived.
func (f *fold) addLayers(p *Pull, index int16, a pullAttempt) {
	downloaded := f.bounds.find(milestoneKey{index, a.attempt, MilestonePullDownloaded})
	if downloaded == nil {
		return
	}
	p.DownloadedAt = downloaded.estimate().time()
	p.Layers, p.Resumed = f.pulls[index].layers, f.pulls[index].resumed
	if image := f.pulledImage(p.Container); image != nil && image.withLayers != nil {
		p.imageLayers = image.withLayers.Layers
		if resolved := image.withLayers.ResolvedAt; !resolved.IsZero() {
			p.resolvedAt = at(resolved)
		}
	}
}

// Bytes returns the number of bytes that the pull downloaded, or 0 if unknown. Bytes excludes shared layers, because
// their bytes belong to another pull.
func (p Pull) Bytes() (sum int64) {
	for i, l := range p.Layers {
		again := slices.ContainsFunc(p.Layers[:i], func(below Layer) bool { return below.Digest == l.Digest })
		if !p.shared(i) && !again { // an image can contain the same layer twice
			sum += max(0, l.SizeBytes)
		}
	}
	return sum
}

// Sized reports whether the duration of a pull can be compared with its bytes. The result is true if the pull
// downloaded content, its duration is known, and ownBytes returns true.
func (p Pull) Sized() bool {
	return p.Outcome == imagepull.OutcomeDownloaded && p.Timed && p.ownBytes()
}

// ownBytes reports whether Bytes returns exactly the number of bytes that the runtime received for this pull alone,
// without a delay by another pull's unpacking. If a layer that the pull might have downloaded lacks a timestamp, Layers
// is empty, so ownBytes returns false.
func (p Pull) ownBytes() bool {
	dated := !p.StartedAt.IsZero() && p.DownloadedAt.After(p.StartedAt)
	own := !p.early && !p.waited && !p.Resumed && !p.Lazy && !slices.Contains(p.Shared, true)
	unknown := slices.ContainsFunc(p.Layers, func(l Layer) bool { return l.SizeBytes <= 0 })
	return dated && own && !unknown && p.Bytes() > 0
}

func (p Pull) shared(layer int) bool { return layer < len(p.Shared) && p.Shared[layer] }

// Unpacking returns the start and the end of the unpacking of the pull's layers. The result "busy" is the time that the
// runtime spent on unpacking, without the time that the runtime waited for layers. The runtime unpacks a layer as soon
// as the layer has arrived and the layer below is unpacked. Other layers can still arrive during the unpacking. The
// results are zero if the runtime does not report layers.
func (p Pull) Unpacking() (from, to time.Time, busy time.Duration) {
	var before time.Time // the time when the layer below was unpacked
	for _, l := range p.Layers {
		if l.UnpackedAt.IsZero() || !l.UnpackedAt.After(l.DownloadedAt) {
			continue
		}
		began := later(before, l.DownloadedAt)
		before = l.UnpackedAt
		if from.IsZero() || began.Before(from) {
			from = began
		}
		to = later(l.UnpackedAt, to)
		busy += max(0, l.UnpackedAt.Sub(began))
	}
	return from, to, busy
}
