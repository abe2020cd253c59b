package eventwatch

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/kubeclient"
)

// leaseTime is how long a watch can stay open while other watches wait for a slot. checkInterval is the interval at
// which an open watch checks whether other watches wait for a slot. A watch that has delivered all existing Events can
// release its slot at the first check. checkInterval is short enough for 100 pods that need watches at the same time:
// each watch gets a slot before package timeline stops waiting for late Events (eventGrace).
const (
	leaseTime     = 30 * time.Second
	checkInterval = 3 * time.Second
)

const remedy = "allow the ServiceAccount to list and watch events, or use --events=off"

var errClosedAtOnce = errors.New("the API server closed the watch immediately")

// keepOpen keeps a watch open until the lease ends or other watches need the slot. For observations, keepOpen uses ctx
// and not the context "lease". If the end of the lease interrupted an observation, its Event would be lost.
func (s *Source) keepOpen(ctx, lease context.Context, w *watcher) {
	for lease.Err() == nil {
		if !s.watchOnce(ctx, lease, w) {
			w.failures++
		}
		if !backoff.Sleep(lease, w.delay()) || s.mustLeaveSlot(w) {
			return
		}
	}
}

// watchOnce opens a watch and processes its messages. watchOnce reports whether the watch ended without a failure.
func (s *Source) watchOnce(ctx, lease context.Context, w *watcher) bool {
	events := kubeclient.Resource{Client: s.config.Client, Namespace: w.namespace, Name: "events"}
	from, err := s.startOf(lease, w)
	switch {
	case errors.Is(err, errNotNeeded):
		return true
	case err != nil:
		s.reportRefused(lease, err)
		return false
	}
	withoutStarts := s.config.WithoutStarts != nil && s.config.WithoutStarts()
	stream, err := events.Watch(lease, from.listOptions(w.selector(withoutStarts)))
	switch {
	case err == nil:
		defer stream.Stop()
		return s.processEvents(ctx, lease, w, from, stream)
	case s.dropExpired(w, from, err):
		return true
	}
	s.reportRefused(lease, err)
	return false
}

// reportRefused reports the error of a failed watch to the health status, unless the lease has ended.
func (s *Source) reportRefused(lease context.Context, err error) {
	if lease.Err() == nil {
		s.config.Report(false, "watch events: "+kubeclient.Explain(err, remedy))
	}
}

// processEvents processes the messages of a watch until the watch or its lease ends. The result is true if the watch
// ended without a failure.
func (s *Source) processEvents(ctx, lease context.Context, w *watcher, from startPoint, stream watch.Interface) bool {
	r := s.beginSession(ctx, w, from)
	defer r.close(ctx)
	ticker, idle := time.NewTicker(checkInterval), time.NewTimer(w.linger())
	defer r.proof.timer.Stop()
	defer ticker.Stop()
	defer idle.Stop()
	for {
		select {
		case <-lease.Done():
			return true
		case <-r.proof.timer.C:
			r.recordAccepted()
			r.proven, w.failures = true, 0
			r.reportOrAddOwnWatches() // must set the positions before recordProven makes the shared watch read them
			s.recordProven(w)
		case <-ticker.C:
			r.advanceMembers()
			if r.beganAtValidRevision() {
				w.expiries = 0
			}
			s.reshare(w)
			if s.mustReleaseSlot(r) {
				return true
			}
		case <-w.changed:
			r.extendDeadlineDuring(r.updateMembers)
			if r.proven {
				r.reportOrAddOwnWatches()
			}
			idle.Reset(w.linger())
		case <-idle.C:
			if w.alone == nil && s.stopIfUnused(w) {
				return true
			}
		case event, ok := <-stream.ResultChan():
			r.broken = lease.Err() == nil && (!ok || event.Type == watch.Error)
			if !ok {
				if !r.accepted {
					s.reportRefused(lease, errClosedAtOnce)
				}
				return r.accepted
			}
			if event.Type == watch.Error {
				// If the API server accepted the watch before the error, the error affects only this watch. For
				// example, etcd might no longer have the watch's revision (status 410).
				return s.handleError(lease, r, apierrors.FromObject(event.Object))
			}
			r.recordAccepted()
			r.extendDeadlineDuring(func() { r.passEvent(event) })
			if r.checkUsage(); lease.Err() != nil {
				return true // checkUsage has ended the lease, to replace this watch with watches on single pods
			}
		}
	}
}

// handleError handles an error that ended a watch. If the watch has delivered an Event newer than its start revision,
// handleError returns false and does not call dropExpired, because the start revision was valid.
//
// handleError returns true if the error is not a failure. The only error that is not a failure is an expired revision
// that the API server reports before the agent has called recordAccepted. If a slow API server reports an expired
// revision later, handleError returns false.
func (s *Source) handleError(lease context.Context, r *watchSession, err error) bool {
	if r.accepted && r.proof.newest > r.from.revision {
		return false
	}
	if s.dropExpired(r.watcher, r.from, err) {
		if !r.accepted {
			r.members = nil // the watch has delivered nothing, so watchSession.close must skip its pods
		}
		return !r.accepted
	}
	if !r.accepted {
		s.reportRefused(lease, err)
	}
	return false
}
