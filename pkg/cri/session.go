package cri

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// parallelRequests is the number of requests that a session handles in parallel. The number is small, because the
	// kubelet uses the same runtime.
	parallelRequests = 2
	// heartbeat is the interval at which the agent requests the runtime's version while no pods start.
	heartbeat = 10 * time.Second
)

// session is one connection to a runtime, from the first successful call until the connection breaks or the runtime's
// version changes. Without the end of the session, gRPC would connect again to a runtime that restarted, and the
// session would use the stores of the old version. Behind a proxy, the connection does not break, so only the version
// changes.
type session struct {
	source    *Source
	client    *client
	responder *responder
	runtime   string     // name and version, for messages
	broken    chan error // the error that broke the connection; capacity 1, so the method "end" drops all later errors
	// arrivedBlobs contains the blobs that were complete at the previous query for downloads, and their arrival times.
	// arrivedBlobs needs no lock, because sharedDownloads runs only one query at a time.
	arrivedBlobs map[digest.Digest]time.Time
	// receivedBefore contains, for each image, the bytes that arrived before the previous query for downloads.
	// receivedBefore covers only images whose download was in progress. Like arrivedBlobs, receivedBefore needs no
	// lock.
	receivedBefore map[digest.Digest]*receivedBytes
}

func newSession(s *Source, client *client, version *runtimeapi.VersionResponse) *session {
	responder := &responder{
		client: client, stores: storesOf(version, s.config.Logger),
		stamps: s.stamps, statuses: s.statuses, now: s.config.Now,
	}
	responder.catalog = catalog{readBlob: responder.readBlob, machine: platforms.Default(), known: s.contents}
	return &session{
		source:    s,
		client:    client,
		responder: responder,
		runtime:   runtimeText(version),
		broken:    make(chan error, 1),
	}
}

// detail returns the runtime's name and version, and what the runtime cannot report.
func (s *session) detail() string {
	limits := s.responder.stores.describeLimits()
	if limits == "" {
		return s.runtime
	}
	return s.runtime + " does not report " + limits
}

func (s *session) close() { s.client.close() }

// serve responds to requests until ctx ends, the connection breaks, a request for the runtime's version fails, or the
// version has changed. The returned error is the reason why serve ended.
func (s *session) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	s.source.current.Store(s)
	defer s.source.current.Store(nil) // only one session exists at a time
	for range parallelRequests {
		running.Go(func() { s.respondAll(ctx) })
	}
	running.Go(func() { s.responder.findDiscardOption(ctx) })
	running.Go(func() { s.endWithConnection(ctx) })
	beat := time.NewTimer(s.source.silence.untilHeartbeat())
	defer beat.Stop()
	for {
		select {
		case s.source.silence.watched = <-s.source.watch:
			beat.Reset(s.source.silence.untilHeartbeat())
			if !s.source.silence.watched {
				continue
			}
			if err := s.requestVersion(ctx); err != nil {
				return err
			}
		case <-beat.C:
			beat.Reset(s.source.silence.untilHeartbeat())
			if err := s.requestVersion(ctx); err != nil {
				return err
			}
		case err := <-s.broken:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// requestVersion requests the runtime's version, to check whether the runtime responds and to measure the response
// time. If the version has changed, requestVersion returns an error.
func (s *session) requestVersion(ctx context.Context) error {
	sentAt := s.source.config.Now()
	version, err := s.client.version(ctx)
	if err != nil {
		return err
	}
	if now := runtimeText(version); now != s.runtime {
		return fmt.Errorf("the container runtime was %s and is now %s: the agent connects again", s.runtime, now)
	}
	s.source.silence.recordResponse(ctx, s.source.config, sentAt)
	s.source.config.Report(true, s.detail())
	return nil
}

// respondAll is one worker: it responds to requests until ctx ends.
func (s *session) respondAll(ctx context.Context) {
	for {
		open, request := s.source.pending.waitForReady(ctx, s.source.config.Now)
		if open == nil {
			return
		}
		s.respond(ctx, open, request)
	}
}

func (s *session) respond(ctx context.Context, open *openRequest, request timeline.RuntimeRequest) {
	source := s.source
	seen, err := s.responder.respond(ctx, request)
	if err == nil {
		source.config.Report(true, s.detail())
		source.metrics.responded.Inc()
		source.config.Observe(ctx, seen)
		source.pending.finish(open, request)
		return
	}
	if source.pending.retryOrGiveUp(open, request, source.config.Now()) {
		source.metrics.givenUp.Inc()
		source.config.Logger.Warn("the agent gave up on a request to the container runtime",
			zap.String("uid", request.UID), zap.Error(err))
	}
	if ctx.Err() == nil && !s.isLost(err) { // the end of the session is not a failure of the runtime
		source.config.Report(false, err.Error())
	}
}

// isLost reports whether the error means that the connection broke. If the connection broke, isLost also ends the
// session.
func (s *session) isLost(err error) bool {
	if status.Code(err) != codes.Unavailable {
		return false
	}
	s.end(err)
	return true
}

// endWithConnection ends the session when the connection breaks. Just after the first response, gRPC can still report
// that it is connecting.
func (s *session) endWithConnection(ctx context.Context) {
	conn := s.client.conn
	for conn.GetState() == connectivity.Connecting {
		if !conn.WaitForStateChange(ctx, connectivity.Connecting) {
			return
		}
	}
	if conn.WaitForStateChange(ctx, connectivity.Ready) {
		s.end(errors.New("the runtime closed the connection"))
	}
}

// end ends the session because its connection broke.
func (s *session) end(err error) {
	select {
	case s.broken <- fmt.Errorf("the connection to the container runtime is lost: %w", err):
	default:
	}
}
