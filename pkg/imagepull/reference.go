package imagepull

import "github.com/distribution/reference"

// SplitReference splits an image reference as Kubernetes does: the repository with its registry,
// such as docker.io/library/busybox, and the tag, or the digest if there is no tag; latest if there
// is neither. Both are empty if the reference is invalid.
func SplitReference(ref string) (repository, tag string) {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return "", ""
	}
	switch named := reference.TagNameOnly(named).(type) {
	case reference.Tagged:
		tag = named.Tag()
	case reference.Digested:
		tag = named.Digest().String()
	}
	return named.Name(), tag
}
