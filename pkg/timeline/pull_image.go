package timeline

import (
	"cmp"
	"slices"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Somebody can change a container's image while the kubelet tries to pull the image, for example with "kubectl set
// image". If the attempts concern different images, only the Events name the image of each attempt.

// maxImages limits the list containerEvidence.images. If there are more images, the list keeps the first images in
// alphabetical order. So the result does not depend on the order of the observations.
const maxImages = 8

// observedImage is an image in a container's spec.
type observedImage struct {
	ref string
	at  instant // the earliest arrival of a spec with this image
}

// addImage adds an image to the list of the container's images. The result is true if the list has changed.
func (c *containerEvidence) addImage(image observedImage) bool {
	i, found := slices.BinarySearchFunc(c.images, image,
		func(a, b observedImage) int { return cmp.Compare(a.ref, b.ref) })
	switch {
	case found && c.images[i].at <= image.at, i == maxImages:
		return false
	case found:
		c.images[i].at = image.at
		return true
	}
	c.images = slices.Insert(c.images, i, image)
	c.images = c.images[:min(len(c.images), maxImages)]
	return true
}

// imageChanged reports whether the container's spec has named more than one image. After the image changes, a status
// can describe the old or the new image.
func (c *containerEvidence) imageChanged() bool { return len(c.images) > 1 }

// mayMissChange reports whether the agent might have missed a change of the pod's spec. The result is true if
// observedSinceCreation returns false and the spec had already changed when the agent first saw the pod. Any change of
// the spec counts, such as the removal of a scheduling gate.
func (e *Evidence) mayMissChange() bool {
	return e.generation > 1 && !e.observedSinceCreation()
}

// observedSinceCreation reports whether the watch delivered the pod before the kubelet first reported the pod's status.
func (e *Evidence) observedSinceCreation() bool { return e.firstSeen.live && e.firstSeen.new }

// imageWithHash returns the image with the given textHash, or an empty string if the list does not contain the image.
func imageWithHash(images []observedImage, hash uint64) string {
	i := slices.IndexFunc(images, func(image observedImage) bool { return textHash(image.ref) == hash })
	if i < 0 {
		return ""
	}
	return images[i].ref
}

// imageOfAttempt returns the image of one pull attempt of a container, and the image's registry. If the container's
// image might have changed and no Event names the attempt's image, the result is imagepull.UnknownImage. From an Event,
// the evidence keeps only a hash of the image. So the image is also unknown if no observed spec contained it.
func (f *fold) imageOfAttempt(c *Container, attempt uint16) (image, registry string) {
	evidence := &f.e.containers[f.index(c.Name)]
	switch named := f.pulls[f.index(c.Name)].imageNamed(attempt); {
	case f.attemptsUnclear(f.index(c.Name), c):
	case named == 0 && !evidence.imageChanged() && !f.e.mayMissChange(), named == textHash(c.Image):
		image = c.Image
	case named != 0:
		image = imageWithHash(evidence.images, named)
	}
	if image == "" {
		return imagepull.UnknownImage, imagepull.UnknownRegistry
	}
	return image, evidence.registryOf(image)
}

// imageNamed returns textHash of the image that the Events about an attempt name. If no Event names the image,
// imageNamed returns 0.
func (p *pullEvidence) imageNamed(attempt uint16) uint64 {
	if attempt == p.finalAttempt && p.pulled.known() {
		return p.pulled.image
	}
	if failed := p.failureOf(attempt); failed != nil {
		return failed.image
	}
	i := slices.IndexFunc(p.requests, func(r imageRequest) bool {
		return r.key.attempt == attempt && r.earliest <= p.until
	})
	if i >= 0 {
		return p.requests[i].image
	}
	return 0
}

// usedImage returns the runtime's responses about the image of a container's first run. usedImage returns nil if the
// runtime has not responded, or if the first run might not have used the image in the latest spec.
func (f *fold) usedImage(c *Container) *imageEvidence {
	index := f.index(c.Name)
	if index != podWide && index < int16(len(f.pulls)) {
		p := &f.pulls[index]
		named := p.imageNamed(p.finalAttempt)
		changed := named != 0 || f.e.containers[index].imageChanged() || f.e.mayMissChange()
		if changed && named != textHash(c.Image) {
			return nil
		}
	}
	return f.e.image(c.Image)
}

// pulledImage returns the result of usedImage if the container's image was absent at first or was pulled again.
// For any other image, pulledImage returns nil, because the image's timestamp does not show the end of a pull during
// the start-up.
func (f *fold) pulledImage(container string) *imageEvidence {
	i := slices.IndexFunc(f.e.pod.Containers, func(c Container) bool { return c.Name == container })
	if i < 0 {
		return nil
	}
	if image := f.usedImage(&f.e.pod.Containers[i]); image != nil && (image.wasAbsent() || image.pulledAgain()) {
		return image
	}
	return nil
}
