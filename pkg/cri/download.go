package cri

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Downloads tells what containerd is downloading now, from its content store; without a download it
// costs the runtime one call. Unless since is zero it also tells of the pulls begun since of which
// no blob comes at the moment, because the next is not asked for yet or because all have come and
// are unpacked. It may be called from any goroutine and takes no longer than Config.Timeout: all
// who ask within a second share one answer, and one question. The answer is nil without an error
// while no runtime is connected, and for a runtime that does not tell, such as CRI-O. The error is
// that of a runtime that did not answer.
func (s *Source) Downloads(ctx context.Context, since time.Time) ([]imagepull.Download, error) {
	session := s.current.Load()
	if session == nil || !session.lookUp.stores.content.on() {
		return nil, nil
	}
	found, err := s.progress.get(ctx, func(ctx context.Context) ([]imagepull.Download, error) {
		return session.downloads(ctx, since)
	})
	if err == nil && found == nil {
		found = []imagepull.Download{}
	}
	return found, err
}
