package cri

import (
	"context"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Downloads tells what containerd is downloading now, from its content store; without a download it costs the
// runtime one call. It may be called from any goroutine and takes no longer than Config.Timeout: all who ask
// within a second share one answer, and one question. The answer is nil without an error while no runtime is
// connected, and for a runtime that does not tell, such as CRI-O. The error is that of a runtime that did not
// answer.
func (s *Source) Downloads(ctx context.Context) ([]imagepull.Download, error) {
	session := s.current.Load()
	if session == nil || !session.lookUp.stores.content.on() {
		return nil, nil
	}
	found, err := s.progress.get(ctx, session.downloads)
	if err == nil && found == nil {
		found = []imagepull.Download{}
	}
	return found, err
}
