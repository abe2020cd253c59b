package timeline

import (
	"slices"
	"time"
)

// A lazy snapshotter (stargz, SOCI, nydus, overlaybd) responds to a pull after it has mounted the image's layers
// from the registry. The snapshotter downloads the content of the layers later, for example when a process reads a
// file. So the download happens while the container starts and runs.

// isLazy reports whether the runtime mounted layers of a container's image from the registry. isLazy returns false if
// the agent did not query the runtime about layers.
func (f *fold) isLazy(c *Container) bool {
	image := f.usedImage(c)
	return image != nil && image.withLayers != nil && image.withLayers.hasMountedLayers()
}

func (i *Image) hasMountedLayers() bool {
	return slices.ContainsFunc(i.Layers, func(l Layer) bool { return l.Remote })
}

// usesRegistryAfter reports whether the runtime might have used the registry after the given time, although it
// downloaded no layer. There are two possible reasons: the runtime mounted a layer from the registry (Layer.Remote), or
// a lazy snapshotter asked the registry about a layer. The snapshotter asks before the runtime unpacks the layer. If
// the runtime unpacked only one layer after the given time, usesRegistryAfter assumes that the snapshotter asked about
// this layer before the given time.
func (i *Image) usesRegistryAfter(then time.Time) bool {
	unpacked := 0
	for _, l := range i.Layers {
		switch {
		case !l.UnpackedAt.After(then):
		case l.Remote:
			return true
		default:
			unpacked++
		}
	}
	return i.LazySnapshotter && unpacked > 1
}

// mayReadImage reports whether a container can read its image during the phase, because the container starts or runs.
func (p Phase) mayReadImage() bool {
	switch p {
	case PhaseContainerStart, PhaseInitRun, PhasePostStartHook, PhaseFailedRun, PhaseStartupProbe, PhaseReadinessProbe:
		return true
	}
	return false
}

// markLoading marks the spans during which the container's image can still be loading. If a span names no container,
// markLoading checks every container of the pod.
func (f *fold) markLoading(spans []Span) {
	for i := range spans {
		s := &spans[i]
		s.ImageLoading = (s.Phase.mayReadImage() || slices.ContainsFunc(s.MergedWith, Phase.mayReadImage)) &&
			slices.ContainsFunc(f.containers, func(c *Container) bool {
				return (s.Container == "" || c.Name == s.Container) && c.Kind != KindImageVolume && f.isLazy(c)
			})
	}
}
