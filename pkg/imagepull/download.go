package imagepull

import (
	"strings"
	"time"
)

// Download is one image that the runtime is downloading or unpacking at the moment, for the kubelet or for another
// client.
type Download struct {
	// Registry is the host without its port, for example docker.io. Repository is the path on that host, for example
	// library/nginx. containerd records the registry and the repository in labels of the manifest. If the labels do not
	// exist yet, or if several registries provided the manifest, both fields are empty. If several repositories of one
	// registry provided the manifest, only Repository is empty.
	Registry, Repository string
	// Digest is the digest of the manifest for this machine's platform, for example sha256:…. Digest is never the
	// digest of an image index. One Download can combine all blobs without a known manifest. The Digest of this
	// Download is empty.
	Digest string
	// DoneBytes is the number of bytes of the layers and the config that are already on the node. The bytes of
	// incomplete blobs count, too. TotalBytes is the total size of the layers and the config, or 0 if unknown. If two
	// images share a blob, the blob counts for both images.
	DoneBytes, TotalBytes int64
	// BytesPerSecond is the download rate of the last few seconds (at most 35 s), or 0 if unknown. If the agent does
	// not know which layers the image still needs, the rate is unknown.
	BytesPerSecond int64
	// StartedAt is the start of the oldest blob download in progress, on the node's clock. If containerd resumed this
	// download, StartedAt is the start of the first attempt. If no blob is being downloaded, StartedAt is the time when
	// the manifest arrived in the current attempt.
	StartedAt time.Time
	// ResolvedAt is the time when the latest pull of the image got the manifest, on the node's clock. Until the current
	// attempt has the manifest, ResolvedAt is the time when an earlier attempt got the manifest. If the manifest is
	// unknown, ResolvedAt is zero.
	ResolvedAt time.Time
	Blobs      int  // number of blobs that the runtime is downloading
	Complete   bool // all blobs have arrived, but not all layers are unpacked
	// ArrivedAt is the time when the last blob arrived, on the node's clock. If Complete is false, ArrivedAt is zero.
	// ArrivedAt is also zero if the time is unknown, for example because the runtime has already removed a blob.
	ArrivedAt time.Time
}

// FromRepositoryOf reports whether the download comes from the repository in an image reference.
func (d Download) FromRepositoryOf(ref string) bool {
	return d.Repository != "" && d.Registry == hostname(Registry(ref)) && d.Repository == repositoryPath(ref)
}

// HasDigestOf reports whether an image reference contains the digest of this download.
func (d Download) HasDigestOf(ref string) bool {
	return d.Digest != "" && strings.HasSuffix(ref, "@"+d.Digest)
}

// hostname returns the host of a registry in the form that containerd records. The result has no port, and an IPv6
// address in the result has no brackets.
func hostname(registry string) string {
	if address, bracketed := strings.CutPrefix(registry, "["); bracketed {
		address, _, _ = strings.Cut(address, "]")
		return address
	}
	host, _, _ := strings.Cut(registry, ":")
	return host
}
