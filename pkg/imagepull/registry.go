package imagepull

import (
	"fmt"

	"github.com/distribution/reference"
)

// UnknownRegistry is the registry of an invalid reference.
const UnknownRegistry = "unknown"

// Registry returns the host, with the port if there is one, that an image reference names:
// docker.io if it names none, and UnknownRegistry if it is invalid. A mirror that the runtime is
// configured to use does not show in a reference.
func Registry(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return UnknownRegistry
	}
	return reference.Domain(named)
}

// Normalize returns the name under which containerd's CRI plugin stores an image that was requested
// as ref: with explicit registry and tag, and without the tag if there is a digest. It fails if ref
// is not an image reference, such as a bare image ID.
func Normalize(ref string) (string, error) {
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return "", fmt.Errorf("parse image reference %q: %w", ref, err)
	}
	return named.String(), nil
}

// Repository returns the path in the registry that an image reference names, such as
// library/busybox; empty if the reference is invalid.
func Repository(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ""
	}
	return reference.Path(named)
}
