package imagepull

import (
	"fmt"

	"github.com/distribution/reference"
)

// UnknownRegistry is the registry of an invalid reference. UnknownImage replaces the image of a pull attempt if the
// agent does not know which image the kubelet tried to pull. For example, the container's image might have changed
// since the attempt.
const (
	UnknownRegistry = "unknown"
	UnknownImage    = "unknown"
)

// Registry returns the host of the registry in an image reference, and also the port if the reference contains a port.
// Registry returns docker.io if the reference contains no host, and UnknownRegistry if the reference is invalid.
// Registry ignores mirrors, because only the runtime's configuration names the mirrors.
func Registry(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return UnknownRegistry
	}
	return reference.Domain(named)
}

// Normalize returns the full name of the image reference ref. containerd's CRI plugin stores the image under this name.
// The name contains the registry and the tag. But if ref contains a digest, the name contains the digest instead of a
// tag. Normalize returns an error if ref is not an image reference, for example a bare image ID.
func Normalize(ref string) (string, error) {
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return "", fmt.Errorf("parse image reference %q: %w", ref, err)
	}
	return named.String(), nil
}

// repositoryPath returns the path of an image reference in its registry, for example library/busybox. repositoryPath
// returns an empty text if the reference is invalid.
func repositoryPath(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ""
	}
	return reference.Path(named)
}
