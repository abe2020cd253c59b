package imagepull

import (
	"strings"
	"time"
)

// Download is one image that the runtime is downloading or unpacking at the moment, for the kubelet or for another
// client.
type Download struct {
	// Registry is the host without its port, and Repository is the path on that host, for example docker.io and
	// library/nginx. containerd records the registry and the repository in labels of the manifest. Registry and
	// Repository are empty if the labels do not exist yet, or if several registries provided the manifest. If several
	// repositories of one registry provided the manifest, only Repository is empty.
	Registry, Repository string
	// Digest is the digest of the manifest for this machine, for example sha256:…. Digest is never the digest of an
	// index. Digest is empty for the Download that combines all blobs without a known manifest.
	Digest string
	// DoneBytes is the number of bytes on the node that belong to the layers and the config, including the bytes of
	// incomplete blobs. TotalBytes is the total size of the layers and the config, or 0 if unknown. A blob that two
	// images share counts for both images.
	DoneBytes, TotalBytes int64
	// BytesPerSecond is the rate at which content arrived over the last few seconds (at most 35 s), or 0 if unknown.
	// The rate is unknown if the agent does not know which layers the image still needs.
	BytesPerSecond int64
	// StartedAt is the start of the oldest blob download in progress, on the node's clock. A resumed download keeps the
	// start of its first attempt. If no blob is being downloaded, StartedAt is the time when the manifest arrived in
	// the current attempt.
	StartedAt time.Time
	// ResolvedAt is the time when the latest pull of the image got the manifest, on the node's clock. Until
	// the current attempt has the manifest, ResolvedAt is the time when an earlier attempt got it. ResolvedAt is zero
	// without a known manifest.
	ResolvedAt time.Time
	Blobs      int  // number of blobs that the runtime is downloading
	Complete   bool // all blobs have arrived, but not all layers are unpacked
	// ArrivedAt is the time when the last blob arrived, on the node's clock, if Complete is true. ArrivedAt is zero if
	// unknown, for example if the runtime has already removed a blob.
	ArrivedAt time.Time
}

// FromRepositoryOf reports whether the download comes from the repository in an image reference.
func (d Download) FromRepositoryOf(ref string) bool {
	return d.Repository != "" && d.Registry == hostname(Registry(ref)) && d.Repository == repositoryPath(ref)
}

// HasDigestOf reports whether an image reference has the digest of this download.
func (d Download) HasDigestOf(ref string) bool {
	return d.Digest != "" && strings.HasSuffix(ref, "@"+d.Digest)
}

// hostname returns a registry in the form that containerd records: without its port and, for an IPv6 address, without
// brackets.
func hostname(registry string) string {
	if address, bracketed := strings.CutPrefix(registry, "["); bracketed {
		address, _, _ = strings.Cut(address, "]")
		return address
	}
	host, _, _ := strings.Cut(registry, ":")
	return host
}
