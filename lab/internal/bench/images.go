package bench

import (
	"context"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/podlapse/podlapse/lab/internal/image"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// Image pushes an image with one layer of random bytes, and returns the image's reference. The node does not have the
// image yet. The image's repository is NAMESPACE/NAME.
func (b *Bench) Image(ctx context.Context, name string, size int) (string, error) {
	return b.ImageOfSizes(ctx, name, size)
}

// ImageOfSizes is like Image, but the image has one layer for each given size.
func (b *Bench) ImageOfSizes(ctx context.Context, name string, sizes ...int) (string, error) {
	layers, err := image.RandomLayers(sizes...)
	if err != nil {
		return "", err
	}
	return b.ImageOf(ctx, name, layers...)
}

// ImageOf pushes an image with the given layers on top of the base image, and returns the image's reference.
func (b *Bench) ImageOf(ctx context.Context, name string, layers ...v1.Layer) (string, error) {
	return b.ImageFrom(ctx, name, func(base v1.Image) (v1.Image, error) { return image.WithLayers(base, layers...) })
}

// ImageFrom pushes an image that the given function makes from the base image, and returns the image's reference.
func (b *Bench) ImageFrom(ctx context.Context, name string, build func(base v1.Image) (v1.Image, error)) (string,
	error) {
	built, err := build(b.base)
	if err != nil {
		return "", err
	}
	return b.Reference(name), image.Push(ctx, b.Node.RegistryGuard(), b.Reference(name), built)
}

// ImageByDigest is like Image, but returns a reference by digest instead of by tag.
func (b *Bench) ImageByDigest(ctx context.Context, name string, size int) (string, error) {
	layer, err := image.RandomLayer(size)
	if err != nil {
		return "", err
	}
	built, err := image.WithLayers(b.base, layer)
	if err != nil {
		return "", err
	}
	digest, err := built.Digest()
	if err != nil {
		return "", err
	}
	return b.imagePrefix() + name + "@" + digest.String(),
		image.Push(ctx, b.Node.RegistryGuard(), b.Reference(name), built)
}

// ImageElsewhere pushes an image for another CPU architecture, so that the image cannot run on the node.
func (b *Bench) ImageElsewhere(ctx context.Context, name, architecture string) (string, error) {
	index, err := image.For(b.base, architecture)
	if err != nil {
		return "", err
	}
	return b.Reference(name), image.PushIndex(ctx, b.Node.RegistryGuard(), b.Reference(name), index)
}

// Reference returns the reference of the bench's image with the given name.
func (b *Bench) Reference(name string) string { return b.imagePrefix() + name + ":1" }

// Elsewhere returns the image reference with the second name of the lab's registry. The registry has two names, and the
// given reference contains the first name.
func (b *Bench) Elsewhere(reference string) string {
	return node.OtherRegistry + strings.TrimPrefix(reference, layout.Address(layout.RegistryPort))
}

// Warm makes the runtime pull an image without the kubelet. Tools such as crictl and image preloaders pull images in
// this way. Warm returns the period of the pull.
func (b *Bench) Warm(ctx context.Context, reference string) (Span, error) {
	return Dated(func() error { return b.Node.Pull(ctx, reference) })
}
