package podwatch

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podlapse/podlapse/pkg/backoff"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// turn is how long a watch may last while others wait in line.
	turn = 30 * time.Second
	// maxSeen bounds what is remembered of one pod's Events. Kubelet's own aggregation keeps a pod far
	// below; beyond, an Event may be observed twice.
	maxSeen = 256
)

var errClosedAtOnce = errors.New("the API server closed the watch at once")

// follower is one pod whose Events are wanted. Only the goroutine that follows touches seen and
// failures; cancel is guarded by the lock of Events and nil while in line.
type follower struct {
	watch    timeline.EventWatch
	cancel   context.CancelFunc
	seen     map[string]string // resource version by Event name: a new watch repeats what exists
	failures int               // in a row
}

// follow keeps a watch open until ctx ends or it is another follower's turn.
func (e *Events) follow(ctx context.Context, f *follower) {
	for ctx.Err() == nil {
		if !e.watchOnce(ctx, f) {
			f.failures++
		}
		if !backoff.Sleep(ctx, retries.Delay(f.failures)) || e.othersWait() {
			return
		}
	}
}

// watchOnce says whether the watch ended without a fault.
func (e *Events) watchOnce(ctx context.Context, f *follower) bool {
	events := resource{client: e.config.Client, namespace: f.watch.Namespace, name: "events"}
	w, err := events.watch(ctx, metav1.ListOptions{
		// Without a resource version the watch begins with what exists: an Event that came before the
		// watch was wanted is not missed. There is no selector for the node, and none with OR.
		FieldSelector: fields.AndSelectors(
			fields.OneTermEqualSelector("involvedObject.uid", f.watch.InvolvedUID),
			fields.OneTermEqualSelector("source", "kubelet"),
		).String(),
	})
	if err != nil {
		e.refused(ctx, err)
		return false
	}
	defer w.Stop()
	e.opened.Add(1)
	return e.read(ctx, f, w)
}

// refused reports what the API server said instead of letting us watch.
func (e *Events) refused(ctx context.Context, err error) {
	if ctx.Err() == nil {
		e.config.Report(false, "watch events: "+err.Error())
	}
}

// read takes in a watch's events until it ends or its turn is over, and says whether it ended
// without a fault.
func (e *Events) read(ctx context.Context, f *follower, w watch.Interface) bool {
	openedAt := e.config.Now()
	proof, turns := time.NewTimer(provenAfter), time.NewTicker(turn)
	defer proof.Stop()
	defer turns.Stop()
	proven := false // by an event or by time, the API server lets us watch
	for {
		select {
		case <-ctx.Done():
			return true
		case <-proof.C:
			proven, f.failures = true, 0
			e.config.Report(true, "watching")
			// What existed comes in a burst without an end mark; by now it has come.
			e.config.Observe(ctx, timeline.EventsWatched{UID: f.watch.UID, ArrivedAt: e.config.Now(), OpenedAt: openedAt})
		case <-turns.C:
			if e.othersWait() {
				return true
			}
		case event, ok := <-w.ResultChan():
			if !ok {
				if !proven {
					e.refused(ctx, errClosedAtOnce)
				}
				return proven
			}
			if event.Type == watch.Error {
				// After a while it is the end of this watch only, e.g. of its history in etcd (410).
				if !proven {
					e.refused(ctx, apierrors.FromObject(event.Object))
				}
				return false
			}
			if !proven {
				proven = true
				e.config.Report(true, "watching")
			}
			e.take(ctx, f, event, openedAt)
		}
	}
}

// take observes an Event that is new or has changed. DELETED means that the API server's time to
// live for Events is over, and a bookmark tells nothing.
func (e *Events) take(ctx context.Context, f *follower, event watch.Event, openedAt time.Time) {
	object, ok := event.Object.(*corev1.Event)
	if !ok || event.Type != watch.Added && event.Type != watch.Modified {
		return
	}
	if version, ok := f.seen[object.Name]; ok && version == object.ResourceVersion {
		return
	}
	if len(f.seen) < maxSeen {
		f.seen[object.Name] = object.ResourceVersion
	}
	e.received.Add(1)
	e.config.Observe(ctx, convertEvent(object, f.watch.UID, openedAt, e.config.Now()))
}
