package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// pulledOnceWithin is how far apart the stamps of an image that was pulled once can be: containerd writes it again
// after the pull, under its other names (internal/cri/server/images, PullImage). Pulling it again takes longer, since
// the registry is asked.
const pulledOnceWithin = 5 * time.Millisecond

// pulledOnce says that an image was pulled no second time since it came.
func (i *imageEvidence) pulledOnce() bool {
	return !i.last.PulledAt.IsZero() && i.last.PulledAt.Sub(i.last.FirstPulledAt) < pulledOnceWithin
}

// layerConstraints decides which layers of an image came with a container's pull, and dates by what the runtime's stores tell
// of them when that pull had begun and when the last byte had come.
func (f *fold) layerConstraints(c *Container) []constraint {
	index, image := f.index(c.Name), f.e.pulledImage(c.Name)
	if index == podWide || image == nil || image.layered == nil {
		return nil
	}
	p, final := f.pulls[index].pulled, f.pulls[index].finalAttempt
	if p.present || !p.known() && (!image.wasAbsent() || f.e.foundPresent(c, image)) {
		return nil
	}
	resolved := image.layered.ResolvedAt
	var constraints []constraint
	began := maxInstant
	timed := p.known() && p.lengths.Timed
	mayBeOwn := !timed && final == 0 && image.wasAbsent() && image.pulledOnce() && f.e.only(c.Image) != nil
	if mayBeOwn && !resolved.IsZero() && at(resolved) >= f.e.workStart(c) && (p.known() || !f.mayStartWorkLater(c, index, at(image.last.PulledAt))) {
		// The manifest came when it was this container's turn. What was on the node before, under another name, says nothing. How
		// long the registry took to send it nobody tells.
		constraints = append(constraints, constraint{markKey{index, final, MarkPullStarted}, originStore, leanLatest, minInstant, at(resolved)},
			point(markKey{index, final, MarkPullResolved}, originStore, resolved))
		began = at(resolved)
	}
	if timed {
		began = p.latest - instant(p.lengths.Pull+p.lengths.Unit+durationSlack)
	}
	if image.layered.undatedSince(began) {
		f.pulls[index].layersUndated = true // the latest of the others may not be the last
		return constraints
	}
	layers := layersSince(image.layered.Layers, began)
	if len(layers) > 0 && image.layered.mountedAfter(lastDownload(layers)) {
		f.pulls[index].layersUndated = true // the registry was asked about another layer while those that came were unpacked
		return constraints
	}
	if last := lastDownload(layers); !last.IsZero() && (!p.known() || at(last) <= p.latest) {
		f.pulls[index].layers = layers
		f.pulls[index].resumed = timed && !resolved.IsZero() && at(resolved) < p.beganAfter()
		constraints = append(constraints, point(markKey{index, final, MarkPullDownloaded}, originStore, last))
	}
	return constraints
}

// beganAfter is when a pull of which the kubelet tells the length began at the earliest.
func (p pulledEvent) beganAfter() instant {
	return p.earliest - instant(p.lengths.Pull+p.lengths.Unit+durationSlack)
}

// nothingCameSince says that all layers of an image are known to have been on the node by then.
func (i *imageEvidence) nothingCameSince(began instant) bool {
	if i.layered == nil || len(i.layered.Layers) == 0 {
		return false
	}
	return !slices.ContainsFunc(i.layered.Layers, func(l Layer) bool { return !l.thereBefore(began) })
}

// thereBefore says that a layer had come by then: what is unpacked had, though its blob may be discarded.
func (l *Layer) thereBefore(then instant) bool {
	came := l.DownloadedAt
	if came.IsZero() {
		came = l.UnpackedAt
	}
	return !came.IsZero() && at(came) < then
}

// undatedSince says that of a layer that may have come since nobody tells when it did.
func (i *Image) undatedSince(began instant) bool {
	return i.Untold && len(i.Layers) == 0 || slices.ContainsFunc(i.Layers, func(l Layer) bool {
		return l.DownloadedAt.IsZero() && !l.Remote && !l.thereBefore(began)
	})
}

// layersKnown says that the runtime could tell of an image's layers at all.
func (i *Image) layersKnown() bool { return len(i.Layers) > 0 || !i.ResolvedAt.IsZero() }

// layersSince are the layers that came since.
func layersSince(layers []Layer, since instant) []Layer {
	return slices.DeleteFunc(slices.Clone(layers), func(l Layer) bool { return l.DownloadedAt.IsZero() || at(l.DownloadedAt) < since })
}

func lastDownload(layers []Layer) (last time.Time) {
	for _, l := range layers {
		if l.DownloadedAt.After(last) {
			last = l.DownloadedAt
		}
	}
	return last
}

// startedBy says that of the start of a pull nothing is known but that the manifest came after it: before that the pull was in
// the queue, or the registry took its time.
func (f *fold) startedBy(index int16, attempt uint16) bool {
	return f.bounds.find(markKey{index, attempt, MarkPullResolved}) != nil
}

// mayHoldUnpacking says that a pull may have brought an image, or may yet, of which nobody tells when its last byte had come:
// registry and disk share that time in an unknown way. So they do in an attempt that may have failed as it unpacked.
func (f *fold) mayHoldUnpacking(c *Container, a pullAttempt) bool {
	switch a.outcome {
	case imagepull.OutcomeVerified:
		return false
	case imagepull.OutcomeFailed:
		return a.failure == imagepull.FailureNoSpace || a.failure == imagepull.FailureCancelled || a.failure == imagepull.FailureOther
	}
	if f.bounds.find(markKey{f.index(c.Name), a.attempt, MarkPullFinished}) == nil {
		return a.outcome == imagepull.OutcomePulling
	}
	image := f.e.pulledImage(c.Name)
	return image == nil || image.layered == nil || !image.layered.layersKnown() || f.pulls[f.index(c.Name)].layersUndated
}

// addLayers adds the layers that came with a pull, and when they had come.
func (f *fold) addLayers(p *Pull, index int16, a pullAttempt) {
	downloaded := f.bounds.find(markKey{index, a.attempt, MarkPullDownloaded})
	if downloaded == nil {
		return
	}
	p.DownloadedAt = downloaded.estimate().time()
	p.Layers, p.Resumed = f.pulls[index].layers, f.pulls[index].resumed
}

// Bytes is how much came with the pull, without what counts at another one; 0 when nobody tells.
func (p Pull) Bytes() (sum int64) {
	for i, l := range p.Layers {
		again := slices.ContainsFunc(p.Layers[:i], func(below Layer) bool { return below.Digest == l.Digest })
		if !p.shared(i) && !again { // an image may have the same layer twice
			sum += max(0, l.SizeBytes)
		}
	}
	return sum
}

func (p Pull) shared(layer int) bool { return layer < len(p.Shared) && p.Shared[layer] }

// Unpacking is from when to when layers of the pull were unpacked, and how much of that time: one layer is unpacked
// after the other, as soon as it has come, while others still come. Zero when the runtime does not tell.
func (p Pull) Unpacking() (from, to time.Time, busy time.Duration) {
	var before time.Time // the layer below was done
	for _, l := range p.Layers {
		if l.UnpackedAt.IsZero() || !l.UnpackedAt.After(l.DownloadedAt) {
			continue
		}
		began := l.DownloadedAt
		if before.After(began) {
			began = before
		}
		before = l.UnpackedAt
		if from.IsZero() || began.Before(from) {
			from = began
		}
		if l.UnpackedAt.After(to) {
			to = l.UnpackedAt
		}
		busy += max(0, l.UnpackedAt.Sub(began))
	}
	return from, to, busy
}
