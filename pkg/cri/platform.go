package cri

import (
	"slices"

	"github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// platform is the platform of a manifest in an index.
type platform struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	Variant      string `json:"variant"`
}

// forPlatform returns the manifests of an index that containerd might have chosen. The most likely manifest is first.
// Manifests for this machine come first, in containerd's order of preference. Manifests without a platform follow.
func (d document) forPlatform(machine platforms.MatchComparer) []digest.Digest {
	var fit, unnamed []descriptor
	for _, m := range d.Manifests {
		switch {
		case m.Platform == nil:
			unnamed = append(unnamed, m)
		case machine.Match(m.Platform.spec()):
			fit = append(fit, m)
		}
	}
	slices.SortStableFunc(fit, func(a, b descriptor) int {
		switch {
		case machine.Less(a.Platform.spec(), b.Platform.spec()):
			return -1
		case machine.Less(b.Platform.spec(), a.Platform.spec()):
			return 1
		}
		return 0
	})
	var digests []digest.Digest
	for _, m := range append(fit, unnamed...) {
		digests = append(digests, m.Digest)
	}
	return digests
}

func (p platform) spec() ocispec.Platform {
	return platforms.Normalize(ocispec.Platform{OS: p.OS, Architecture: p.Architecture, Variant: p.Variant})
}
