package imagepull

import "github.com/distribution/reference"

// SplitReference splits an image reference in the same way as Kubernetes. The repository includes the registry, for
// example docker.io/library/busybox. If the reference has no tag, the result "tag" is the digest. If the reference has
// neither a tag nor a digest, the result "tag" is "latest". Both results are empty if the reference is invalid.
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
