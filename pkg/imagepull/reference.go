package imagepull

import "github.com/distribution/reference"

// SplitReference is what an image reference names, as Kubernetes reads it: the repository with its
// registry, such as docker.io/library/busybox, and the tag, latest where there is neither tag nor
// digest, or else the digest. Both are empty when the reference cannot be read.
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
