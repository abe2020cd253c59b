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

// leaseTime is how long a watch can stay open while other watches wait in the queue. The constant "slice" is the
// interval at which an open watch checks the queue. At the first check, a watch can already release its slot if it has
// delivered all existing Events. So even if 100 pods need watches at once, the watch of each pod gets a slot before the
// core stops waiting for late Events (eventGrace in package timeline).
const (
	leaseTime = 30 * time.Second
	slice     = 3 * time.Second
)

const remedy = "allow the ServiceAccount to list and watch events, or use --events=off"

var errClosedAtOnce = errors.New("the API server closed the watch immediately")

// follow keeps a watch open until the lease ends or other watches need the slot. The observations use ctx, because ctx
// ends later than the context "lease", and an interrupted observation would lose the Event.
func (s *Source) follow(ctx, lease context.Context, f *follower) {
	for lease.Err() == nil {
		if !s.watchOnce(ctx, lease, f) {
			f.failures++
		}
		if !backoff.Sleep(lease, f.delay()) || s.othersWait(f) {
			return
		}
	}
}

// watchOnce opens a watch and processes its messages. watchOnce reports whether the watch ended without a failure.
func (s *Source) watchOnce(ctx, lease context.Context, f *follower) bool {
	events := kubeclient.Resource{Client: s.config.Client, Namespace: f.namespace, Name: "events"}
	from, err := s.startOf(lease, f)
	switch {
	case errors.Is(err, errNotNeeded):
		return true
	case err != nil:
		s.refused(lease, err)
		return false
	}
	withoutStarts := s.config.WithoutStarts != nil && s.config.WithoutStarts()
	w, err := events.Watch(lease, from.options(f.selector(withoutStarts)))
	switch {
	case err == nil:
		defer w.Stop()
		return s.read(ctx, lease, f, from, w)
	case s.expired(f, from, err):
		return true
	}
	s.refused(lease, err)
	return false
}

// Unless the lease has ended, the method "refused" reports the error of a failed watch to the health status.
func (s *Source) refused(lease context.Context, err error) {
	if lease.Err() == nil {
		s.config.Report(false, "watch events: "+kubeclient.Explain(err, remedy))
	}
}

// The method "read" processes the messages of a watch until the watch or its lease ends. The result is true if the
// watch ended without a failure.
func (s *Source) read(ctx, lease context.Context, f *follower, from start, w watch.Interface) bool {
	r := s.begin(ctx, f, from)
	defer r.end(ctx)
	ticker, idle := time.NewTicker(slice), time.NewTimer(f.linger())
	defer r.proof.timer.Stop()
	defer ticker.Stop()
	defer idle.Stop()
	for {
		select {
		case <-lease.Done():
			return true
		case <-r.proof.timer.C:
			r.accept()
			r.proven, f.failures = true, 0
			s.proved(f)
			r.settle()
		case <-ticker.C:
			r.advanceAll()
			if r.holds() {
				f.expiries = 0
			}
			s.reshare(f)
			if s.isOver(r) {
				return true
			}
		case <-f.changed:
			r.passOn(r.meet)
			if r.proven {
				r.settle()
			}
			idle.Reset(f.linger())
		case <-idle.C:
			if f.alone == nil && s.retire(f) {
				return true
			}
		case event, ok := <-w.ResultChan():
			if !ok {
				if !r.accepted {
					s.refused(lease, errClosedAtOnce)
				}
				return r.accepted
			}
			if event.Type == watch.Error {
				// After the API server has accepted the watch, an error concerns only this watch. For example, etcd
				// might no longer have the revision (status 410).
				return s.failed(lease, r, apierrors.FromObject(event.Object))
			}
			r.accept()
			r.passOn(func() { r.take(event) })
			if f.alone == nil && r.usage.wasteful(s.wideSample, s.config.Now()) {
				r.unshare()
			}
			if lease.Err() != nil {
				return true // if the method "unshare" ended the lease, the pods have their own watches
			}
		}
	}
}

// The method "failed" handles an error that ended a watch. The method "expired" handles an expired revision, unless the
// watch has delivered a newer Event. The result is true only if the API server reports the expired revision before the
// agent calls the method "accept": then the error is not a failure. A slow API server can also report the expired
// revision after this call.
func (s *Source) failed(lease context.Context, r *watchSession, err error) bool {
	if r.accepted && r.proof.newest > r.from.revision {
		return false
	}
	if s.expired(r.f, r.from, err) {
		if !r.accepted {
			r.members = nil // the watch has delivered nothing
		}
		return !r.accepted
	}
	if !r.accepted {
		s.refused(lease, err)
	}
	return false
}
