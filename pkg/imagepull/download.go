package imagepull

import (
	"strings"
	"time"
)

// Download is one image that the runtime is downloading or unpacking at this moment, whoever asked for it.
type Download struct {
	// Registry is the host without its port, and Repository the path there, e.g. docker.io and library/nginx, as
	// containerd notes them at the manifest. Empty when not known yet, or when the manifest was pulled
	// from several and nothing tells from which this time.
	Registry, Repository string
	// Digest is that of the manifest for this machine, e.g. sha256:…; never that of an index. Empty when not
	// known: what runs and belongs to no known manifest is one Download.
	Digest string
	// DoneBytes and TotalBytes are of its layers and its config: what is on the node, complete or in part, and
	// all. TotalBytes is 0 when unknown. What two images share counts in both.
	DoneBytes, TotalBytes int64
	// StartedAt is when the oldest of the blobs that run now was begun, on the node's clock. A download that is
	// resumed keeps the start of its first try. Where none runs it is when the runtime had the manifest, this time.
	StartedAt time.Time
	Blobs     int  // downloads of blobs that run now
	Complete  bool // all blobs have come; not all layers are unpacked
}

// Of says that the download is of the repository that an image reference names.
func (d Download) Of(ref string) bool {
	return d.Repository != "" && d.Registry == hostname(Registry(ref)) && d.Repository == Repository(ref)
}

// Is says that an image reference names this very content by its digest.
func (d Download) Is(ref string) bool {
	return d.Digest != "" && strings.HasSuffix(ref, "@"+d.Digest)
}

// hostname is a registry without its port, and an IPv6 address without its brackets, as containerd notes it.
func hostname(registry string) string {
	if address, bracketed := strings.CutPrefix(registry, "["); bracketed {
		address, _, _ = strings.Cut(address, "]")
		return address
	}
	host, _, _ := strings.Cut(registry, ":")
	return host
}
