package eventwatch

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/kubeclient"
)

// leaseTime is the time for which a watch can stay open while other watches wait in the queue. A lease consists of
// several slices. The API server's cost of opening a watch again equals the cost of the first opening. With slices,
// each of 100 pods gets a lease within the time for which the core waits for late Events (timeline, eventGrace).
const (
	leaseTime = 30 * time.Second
	slice     = 3 * time.Second
)

const remedy = "allow the ServiceAccount to watch events, or use --events=off"

var errClosedAtOnce = errors.New("the API server closed the watch immediately")

// The method follow keeps a watch open until the lease ends or other watches need the slot. The method follow passes
// observations with ctx, which is valid longer than the lease, because an interrupted observation would lose the
// Event.
func (s *Source) follow(ctx, lease context.Context, f *follower) {
	for lease.Err() == nil {
		if !s.watchOnce(ctx, lease, f) {
			f.failures++
		}
		if !backoff.Sleep(lease, kubeclient.Retries().Delay(f.failures)) || s.othersWait() {
			return
		}
	}
}

// watchOnce reports whether the watch ended without an error.
func (s *Source) watchOnce(ctx, lease context.Context, f *follower) bool {
	events := kubeclient.Resource{Client: s.config.Client, Namespace: f.namespace, Name: "events"}
	// Without a resource version, the watch starts with all existing Events. So the watch also delivers Events from
	// before the request, and from times without an open watch. The API server cannot reject the version as too old.
	w, err := events.Watch(lease, metav1.ListOptions{FieldSelector: f.selector()})
	if err != nil {
		s.refused(lease, err)
		return false
	}
	defer w.Stop()
	return s.read(ctx, lease, f, w)
}

// The method refused reports the reason why the API server refused the watch.
func (s *Source) refused(lease context.Context, err error) {
	if lease.Err() == nil {
		s.config.Report(false, "watch events: "+kubeclient.Explain(err, remedy))
	}
}

// The method read processes a watch's events until the watch or its lease ends. The method read reports whether the
// watch ended without an error.
func (s *Source) read(ctx, lease context.Context, f *follower, w watch.Interface) bool {
	r := s.begin(ctx, f)
	defer r.end(ctx)
	ticker, idle := time.NewTicker(slice), time.NewTimer(f.linger())
	defer r.proof.timer.Stop()
	defer ticker.Stop()
	defer idle.Stop()
	accepted := false // true after the first event, or after a time without an error
	for {
		select {
		case <-lease.Done():
			return true
		case <-r.proof.timer.C:
			accepted, r.proven, f.failures = true, true, 0
			s.config.Report(true, "watching")
			s.proved(f)
			r.settle()
		case <-ticker.C:
			if s.isOver(r) {
				return true
			}
		case <-f.changed:
			r.hand(r.meet)
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
				if !accepted {
					s.refused(lease, errClosedAtOnce)
				}
				return accepted
			}
			if event.Type == watch.Error {
				// A later error ends only this watch, for example because the watch's history in etcd is gone (410).
				if !accepted {
					s.refused(lease, apierrors.FromObject(event.Object))
				}
				return false
			}
			if !accepted {
				accepted = true
				s.config.Report(true, "watching")
			}
			r.hand(func() { r.take(event) })
		}
	}
}
