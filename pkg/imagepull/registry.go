package imagepull

import (
	"fmt"

	"github.com/distribution/reference"
)

// UnknownRegistry is the registry of a reference that cannot be read.
const UnknownRegistry = "unknown"

// Registry is the host, with the port when there is one, that an image reference names; docker.io
// where it names none, and UnknownRegistry when it cannot be read. A mirror that the runtime is
// configured to ask instead does not show in a reference.
func Registry(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return UnknownRegistry
	}
	return reference.Domain(named)
}

// Normalize is the name under which containerd's CRI plugin stores an image that was asked for as
// ref: with registry and tag made explicit, and without the tag where there is a digest. It fails
// for what is no image reference, such as a bare image ID.
func Normalize(ref string) (string, error) {
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return "", fmt.Errorf("parse image reference %q: %w", ref, err)
	}
	return named.String(), nil
}

// Repository is the path in the registry that an image reference names, such as library/busybox; empty when the
// reference cannot be read.
func Repository(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ""
	}
	return reference.Path(named)
}
