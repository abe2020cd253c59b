package imagepull

import "github.com/distribution/reference"

// SplitReference splits an image reference in the same way as Kubernetes. The result "repository" includes the
// registry, for example docker.io/library/busybox. The result "tag" is the tag, or the digest if there is no tag, or
// "latest" if there is neither a tag nor a digest. The results are empty if the reference is invalid.
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
