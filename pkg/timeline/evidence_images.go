package timeline

import (
	"cmp"
	"time"
)

// imageEvidence holds three answers about an image, which are often the same one. The first one shows what the kubelet
// found. The last one shows whether a pull brought new content. The third, layered, is the last one with layers; nil if
// there is none.
type imageEvidence struct {
	*imageAnswer
	last, layered *imageAnswer
	// beforeSandbox says that no sandbox ran at the first answer, so the kubelet cannot have begun to pull.
	beforeSandbox bool
}

// imageAnswer is what the runtime said about an image when it was asked.
type imageAnswer struct {
	Image
	askedAt time.Time
}

func (e *Evidence) applyImage(askedAt time.Time, image Image, beforeSandbox bool) {
	known := e.image(image.Ref)
	if known == nil {
		if len(e.images) == maxContainers {
			e.markOverflow()
			return
		}
		e.changed = true
		answer := &imageAnswer{image, askedAt}
		e.images = append(e.images, imageEvidence{imageAnswer: answer, last: answer, beforeSandbox: beforeSandbox})
		if image.hasLayers() {
			e.images[len(e.images)-1].layered = answer
		}
		return
	}
	first := cmp.Or(askedAt.Compare(known.askedAt), compareBools(known.beforeSandbox, beforeSandbox),
		compareImages(&image, &known.Image)) < 0
	last := known.last.before(askedAt, &image)
	layered := image.hasLayers() && (known.layered == nil || known.layered.containsLess(askedAt, &image))
	if !first && !last && !layered {
		return
	}
	kept := &imageAnswer{image, askedAt}
	if first {
		known.imageAnswer, known.beforeSandbox = kept, beforeSandbox
	}
	if last {
		known.last = kept
	}
	if layered {
		known.layered = kept
	}
	e.changed = true
}

// before orders answers by the time of the question, and then in an arbitrary but total order.
func (a *imageAnswer) before(askedAt time.Time, image *Image) bool {
	return cmp.Or(a.askedAt.Compare(askedAt), compareImages(&a.Image, image)) < 0
}

// containsLess reports whether another answer about layers should replace this one. The later answer wins, unless it is
// less complete.
func (a *imageAnswer) containsLess(askedAt time.Time, image *Image) bool {
	if a.Incomplete != image.Incomplete {
		return a.Incomplete
	}
	return a.before(askedAt, image)
}

// hasLayers reports whether the answer has the layers, as far as the runtime knows them.
func (i *Image) hasLayers() bool { return i.Layered && i.Present }

// image returns what is known about a reference as written in the spec; nil if the runtime was never asked about it.
func (e *Evidence) image(ref string) *imageEvidence {
	for i := range e.images {
		if e.images[i].Ref == ref {
			return &e.images[i]
		}
	}
	return nil
}

// pulledImage returns the answers about the image of a container if that image was absent at first, or was pulled
// since. Its timestamp is then of a pull during the start-up.
func (e *Evidence) pulledImage(container string) *imageEvidence {
	for i := range e.pod.Containers {
		if e.pod.Containers[i].Name == container {
			if image := e.image(e.pod.Containers[i].Image); image != nil && (image.wasAbsent() || image.pulledAgain()) {
				return image
			}
		}
	}
	return nil
}

// wasAbsent reports whether an image was absent from the node at first, or was removed and pulled again.
func (i *imageEvidence) wasAbsent() bool { return !i.Present || i.removed() }

// removed reports whether an image that was present at first was removed, for example by the kubelet's garbage
// collection, and pulled again: its first timestamp changes only then.
func (i *imageEvidence) removed() bool {
	return i.Present && !i.FirstPulledAt.IsZero() && i.last.FirstPulledAt.After(i.FirstPulledAt)
}

// pulledAgain reports whether an image that was present has been pulled since.
func (i *imageEvidence) pulledAgain() bool {
	return i.Present && !i.PulledAt.IsZero() && i.last.PulledAt.After(i.PulledAt)
}
