package cri

import (
	"context"
	"time"
)

// Download is one image that is being downloaded.
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
	// resumed keeps the start of its first try.
	StartedAt time.Time
	Blobs     int // downloads of blobs that run now
}

// Downloads tells what containerd is downloading now, from its content store; without a download it costs the
// runtime one call. It may be called from any goroutine and takes no longer than Config.Timeout: all who ask
// within a second share one answer, and one question. The answer is empty without an error while no runtime is
// connected, and for a runtime that does not tell, such as CRI-O. The error is that of a runtime that did not
// answer.
func (s *Source) Downloads(ctx context.Context) ([]Download, error) {
	session := s.current.Load()
	if session == nil || !session.lookUp.stores.content.on() {
		return nil, nil
	}
	return s.progress.get(ctx, session.downloads)
}
