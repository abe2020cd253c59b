package imagepull

import (
	"fmt"

	"github.com/distribution/reference"
)

// UnknownRegistry is the registry of an invalid reference. UnknownImage stands for the image of a pull attempt if the
// container's image changed and no evidence shows which image the attempt concerned.
const (
	UnknownRegistry = "unknown"
	UnknownImage    = "unknown"
)

// Registry returns the registry's host in an image reference, with its port if the reference contains one. Registry
// returns docker.io if the reference contains no host, and UnknownRegistry if it is invalid. Registry ignores mirrors,
// because only the runtime's configuration names the mirrors.
func Registry(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return UnknownRegistry
	}
	return reference.Domain(named)
}

// Normalize returns the name under which containerd's CRI plugin stores an image that was requested as ref. The
// name contains the registry and the tag. If ref contains a digest, the name contains the digest and no tag.
// Normalize returns an error if ref is not an image reference, for example a bare image ID.
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
