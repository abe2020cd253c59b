package imagepull

import (
	"strings"
	"time"
)

// Download is one image that the runtime is downloading or unpacking at this moment, whichever
// client requested it.
type Download struct {
	// Registry is the host without its port, and Repository the path there, e.g. docker.io and
	// library/nginx, as containerd records them on the manifest. Both are empty if they are not known yet, or if the
	// manifest was pulled from several repositories and it is unknown which one this download uses.
	Registry, Repository string
	// Digest is that of the manifest for this machine, e.g. sha256:…; never that of an index. Empty
	// if unknown: running blobs that belong to no known manifest form one Download.
	Digest string
	// DoneBytes and TotalBytes count its layers and its config: the bytes on the node, complete or
	// in part, and all bytes. TotalBytes is 0 if unknown. Blobs that two images share count in both.
	DoneBytes, TotalBytes int64
	// StartedAt is when the oldest of the running blobs was begun, on the node's clock. A resumed
	// download keeps the start of its first attempt. If no blob is being downloaded, it is when the manifest arrived in
	// this attempt.
	StartedAt time.Time
	Blobs     int  // running downloads of blobs
	Complete  bool // all blobs have arrived; not all layers are unpacked
}

// Of reports whether the download is of the repository in an image reference.
func (d Download) Of(ref string) bool {
	return d.Repository != "" && d.Registry == hostname(Registry(ref)) && d.Repository == Repository(ref)
}

// Is reports whether an image reference has the digest of this download.
func (d Download) Is(ref string) bool {
	return d.Digest != "" && strings.HasSuffix(ref, "@"+d.Digest)
}

// hostname returns a registry without its port, and an IPv6 address without its brackets, as
// containerd records it.
func hostname(registry string) string {
	if address, bracketed := strings.CutPrefix(registry, "["); bracketed {
		address, _, _ = strings.Cut(address, "]")
		return address
	}
	host, _, _ := strings.Cut(registry, ":")
	return host
}
