package timeline

import (
	"cmp"
	"time"
)

// imageEvidence is the first answer about an image, which tells what the kubelet found, the last one, which tells whether
// a pull brought anything new, and the last one with layers, nil while there is none; often they are one.
type imageEvidence struct {
	*imageAnswer
	last, layered *imageAnswer
	// beforeSandbox says that at the time of the first no sandbox ran, so that the kubelet cannot have begun to pull.
	beforeSandbox bool
}

// imageAnswer is what the runtime said of an image when it was asked.
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
	first := cmp.Or(askedAt.Compare(known.askedAt), compareBools(known.beforeSandbox, beforeSandbox), compareImages(&image, &known.Image)) < 0
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

// before orders answers by when they were asked for; the order of those of one instant is any, but total.
func (a *imageAnswer) before(askedAt time.Time, image *Image) bool {
	return cmp.Or(a.askedAt.Compare(askedAt), compareImages(&a.Image, image)) < 0
}

// containsLess says that another answer about layers is the one to keep: the later one, unless it has less in it.
func (a *imageAnswer) containsLess(askedAt time.Time, image *Image) bool {
	if a.Untold != image.Untold {
		return a.Untold
	}
	return a.before(askedAt, image)
}

// hasLayers says that the answer has the layers, as far as the runtime knows them.
func (i *Image) hasLayers() bool { return i.Layered && i.Present }

// image finds what is known of a reference as written in the spec; nil when it was never asked about.
func (e *Evidence) image(ref string) *imageEvidence {
	for i := range e.images {
		if e.images[i].Ref == ref {
			return &e.images[i]
		}
	}
	return nil
}

// pulledImage is the answer about the image of a container if that image was absent at first, or pulled since: the
// stamp it has then is of a pull during the start-up.
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

// wasAbsent says that an image was not on the node at first, or not any more when somebody pulled it.
func (i *imageEvidence) wasAbsent() bool { return !i.Present || i.removed() }

// removed says that an image that was there when the runtime was asked first went from the node, as the kubelet's garbage collection
// makes it, and came anew: until then its first stamp stays.
func (i *imageEvidence) removed() bool {
	return i.Present && !i.FirstPulledAt.IsZero() && i.last.FirstPulledAt.After(i.FirstPulledAt)
}

// pulledAgain says that an image that was there has been pulled since.
func (i *imageEvidence) pulledAgain() bool {
	return i.Present && !i.PulledAt.IsZero() && i.last.PulledAt.After(i.PulledAt)
}
