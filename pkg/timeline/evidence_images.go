package timeline

import (
	"cmp"
	"time"
)

// imageEvidence holds three responses of the runtime about an image. Often, all three responses are the same. The
// embedded field holds the runtime's first response. If beforeSandbox is true, the first response describes the image
// before the kubelet pulled it. The field "last" holds the latest response. The latest response shows whether the
// kubelet pulled the image after the first response. withLayers holds the latest complete response with layers. If all
// responses with layers are incomplete, withLayers holds the latest incomplete response. If no response has layers,
// withLayers is nil.
type imageEvidence struct {
	*imageResponse
	last, withLayers *imageResponse
	// beforeSandbox is true if no sandbox ran at the time of the first response. Without a running sandbox, the kubelet
	// cannot have started a pull.
	beforeSandbox bool
}

// imageResponse is one response of the runtime about an image.
type imageResponse struct {
	Image
	queriedAt time.Time
}

func (e *Evidence) applyImage(queriedAt time.Time, image Image, beforeSandbox bool) {
	known := e.image(image.Ref)
	if known == nil {
		if len(e.images) == maxContainers {
			e.markOverflow()
			return
		}
		e.changed = true
		response := &imageResponse{image, queriedAt}
		e.images = append(e.images, imageEvidence{imageResponse: response, last: response,
			beforeSandbox: beforeSandbox})
		if image.hasLayers() {
			e.images[len(e.images)-1].withLayers = response
		}
		return
	}
	first := cmp.Or(queriedAt.Compare(known.queriedAt), compareBools(known.beforeSandbox, beforeSandbox),
		compareImages(&image, &known.Image)) < 0
	last := known.last.isBefore(queriedAt, &image)
	layered := image.hasLayers() && (known.withLayers == nil || known.withLayers.containsLess(queriedAt, &image))
	if !first && !last && !layered {
		return
	}
	kept := &imageResponse{image, queriedAt}
	if first {
		known.imageResponse, known.beforeSandbox = kept, beforeSandbox
	}
	if last {
		known.last = kept
	}
	if layered {
		known.withLayers = kept
	}
	e.changed = true
}

// isBefore reports whether this response comes before another response about the same image. The response to the
// earlier request comes first. If the agent requested both responses at the same time, compareImages decides the order.
func (a *imageResponse) isBefore(queriedAt time.Time, image *Image) bool {
	return cmp.Or(a.queriedAt.Compare(queriedAt), compareImages(&a.Image, image)) < 0
}

// containsLess reports whether another response with layers should replace this response. A complete response replaces
// an incomplete response. If both responses are complete or both are incomplete, the later response wins.
func (a *imageResponse) containsLess(queriedAt time.Time, image *Image) bool {
	if a.Incomplete != image.Incomplete {
		return a.Incomplete
	}
	return a.isBefore(queriedAt, image)
}

// hasLayers reports whether the image was on the node when the agent requested its layers. The response can still lack
// some layers.
func (i *Image) hasLayers() bool { return i.Layered && i.Present }

// image returns the runtime's responses about an image. The argument "ref" is the image reference from the spec. If the
// agent has no response about this image, the result is nil.
func (e *Evidence) image(ref string) *imageEvidence {
	for i := range e.images {
		if e.images[i].Ref == ref {
			return &e.images[i]
		}
	}
	return nil
}

// wasAbsent reports whether an image was absent from the node at first, or was removed and pulled again.
func (i *imageEvidence) wasAbsent() bool { return !i.Present || i.wasRemoved() }

// wasRemoved reports whether an image was present at first, and was then removed and pulled again. For example, the
// kubelet's garbage collection removes images. FirstPulledAt changes only if the image is pulled again after its
// removal.
func (i *imageEvidence) wasRemoved() bool {
	return i.Present && !i.FirstPulledAt.IsZero() && i.last.FirstPulledAt.After(i.FirstPulledAt)
}

// pulledAgain reports whether an image was present at first and the kubelet then pulled the image again.
func (i *imageEvidence) pulledAgain() bool {
	return i.Present && !i.PulledAt.IsZero() && i.last.PulledAt.After(i.PulledAt)
}
