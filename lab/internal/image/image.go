// Package image builds the lab's images and pushes the images to the lab's registry. The first layer of every image
// contains the workload program. The node pulls the first layer when the lab starts. Each other layer contains a file
// or directory with a random name, so the node never has this layer before the first pull.
package image

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/podlapse/podlapse/lab/internal/registry"
	"github.com/podlapse/podlapse/lab/internal/workload"
)

// Base returns the image that contains only the workload program. The image's digest depends only on the program.
func Base(programPath string) (v1.Image, error) {
	program, err := os.ReadFile(programPath)
	if err != nil {
		return nil, fmt.Errorf("read workload program: %w", err)
	}
	layer, err := layerOf(workload.Path, 0o755, program)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		Architecture: runtime.GOARCH, OS: "linux",
		Config: v1.Config{Entrypoint: []string{workload.Path}},
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, fmt.Errorf("configure image: %w", err)
	}
	image, err = mutate.AppendLayers(image, layer)
	if err != nil {
		return nil, fmt.Errorf("create image: %w", err)
	}
	return image, nil
}

// WithLayers returns a copy of an image with additional layers on top.
func WithLayers(base v1.Image, layers ...v1.Layer) (v1.Image, error) {
	image, err := mutate.AppendLayers(base, layers...)
	if err != nil {
		return nil, fmt.Errorf("create image: %w", err)
	}
	return image, nil
}

// For returns an image index that contains only one image. This image is a copy of the given image for another CPU
// architecture. The copy has the same layers.
func For(image v1.Image, architecture string) (v1.ImageIndex, error) {
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read image configuration: %w", err)
	}
	config = config.DeepCopy()
	config.Architecture = architecture
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, fmt.Errorf("configure image: %w", err)
	}
	platform := &v1.Platform{OS: config.OS, Architecture: architecture}
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex),
		mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}}), nil
}

// Pusher is the value of the header User-Agent when the lab pushes an image. In the registry's log, this value
// distinguishes the lab's requests from the node's requests.
const Pusher = "podlapse-lab"

// Push pushes an image under a reference such as 127.0.0.1:25000/repository:tag. The argument "guard" provides the TLS
// certificates and the login of the registry.
func Push(ctx context.Context, guard registry.Guard, reference string, image v1.Image) error {
	return push(ctx, guard, reference, func(ref name.Reference, options ...remote.Option) error {
		return remote.Write(ref, image, options...)
	})
}

// PushIndex pushes an index together with its images.
func PushIndex(ctx context.Context, guard registry.Guard, reference string, index v1.ImageIndex) error {
	return push(ctx, guard, reference, func(ref name.Reference, options ...remote.Option) error {
		return remote.WriteIndex(ref, index, options...)
	})
}

func push(ctx context.Context, guard registry.Guard, reference string,
	write func(name.Reference, ...remote.Option) error) error {
	// With the option Insecure, the client tries HTTPS first, and then HTTP.
	ref, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		return fmt.Errorf("push image: %w", err)
	}
	login, err := guard.Login()
	if err != nil {
		return fmt.Errorf("push image %s: %w", reference, err)
	}
	transport, err := guard.Transport()
	if err != nil {
		return fmt.Errorf("push image %s: %w", reference, err)
	}
	defer transport.CloseIdleConnections()
	err = write(ref, remote.WithContext(ctx), remote.WithUserAgent(Pusher), remote.WithTransport(transport),
		remote.WithAuth(&authn.Basic{Username: login.Username, Password: login.Password}))
	if err != nil {
		return fmt.Errorf("push image %s: %w", reference, err)
	}
	return nil
}
