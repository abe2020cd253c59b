package cri

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Downloads returns what containerd is downloading now, from its content store. If there is no
// download, that is one call to the runtime. Unless since is zero, the result includes pulls that began since then even
// if none of their blobs is being downloaded at the moment: the next blob is not requested yet, or all have arrived and
// are being unpacked. It may be called from any goroutine and takes at most Config.Timeout. Callers within one second
// share one query and its answer. The answer is nil without an error if no runtime is connected, or if the runtime does
// not report downloads, such as CRI-O. An error means that the runtime did not respond.
func (s *Source) Downloads(ctx context.Context, since time.Time) ([]imagepull.Download, error) {
	session := s.current.Load()
	if session == nil || !session.lookUp.stores.content.on() {
		return nil, nil
	}
	found, err := s.progress.get(ctx, func(ctx context.Context) ([]imagepull.Download, error) {
		found, err := session.look(ctx, since)
		if err != nil {
			session.lost(err)
		}
		return found, err
	})
	if err == nil && found == nil {
		found = []imagepull.Download{}
	}
	return found, err
}
