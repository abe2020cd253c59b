package cri

import (
	"context"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// Downloads returns the downloads in progress, according to containerd's content store. If there is no download and the
// argument "since" is zero, Downloads makes only one call to the runtime. If "since" is not zero, the result also
// contains pulls in progress that began after this time but download no blob at the moment. A pull downloads no blob
// between the end of one blob and the request for the next blob, and while containerd unpacks the last blobs.
//
// Any goroutine can call Downloads. A call takes at most Config.Timeout. Callers within one second share one query and
// its response. If no runtime is connected, or if the runtime does not report downloads, the response and the error are
// nil. For example, CRI-O does not report downloads. If the query fails or takes too long, Downloads returns an error.
func (s *Source) Downloads(ctx context.Context, since time.Time) ([]imagepull.Download, error) {
	session := s.current.Load()
	if session == nil || !session.responder.stores.content.isEnabled() {
		return nil, nil
	}
	found, err := s.progress.latestOrQuery(ctx, func(ctx context.Context) ([]imagepull.Download, error) {
		found, err := session.queryDownloads(ctx, since)
		if err != nil {
			session.isLost(err)
		}
		return found, err
	})
	if err == nil && found == nil {
		found = []imagepull.Download{}
	}
	return found, err
}
