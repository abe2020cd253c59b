package podwatch

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podlapse/podlapse/internal/backoff"
)

// How long a watch may last while others wait in line; a turn is some slices. Opening one again
// costs the API server as much as the first time. With a slice it is the turn of each of 100 pods
// within the time for which the core waits for late Events (timeline, eventGrace).
const (
	turn  = 30 * time.Second
	slice = 3 * time.Second
)

var errClosedAtOnce = errors.New("the API server closed the watch immediately")

// follow keeps a watch open until its turn ends or others need the place. What it observes is handed over
// in ctx, which outlasts the turn: an Event that is let go half-way would be told by nobody.
func (e *Events) follow(ctx, turn context.Context, f *follower) {
	for turn.Err() == nil {
		if !e.watchOnce(ctx, turn, f) {
			f.failures++
		}
		if !backoff.Sleep(turn, retries.Delay(f.failures)) || e.othersWait() {
			return
		}
	}
}

// watchOnce says whether the watch ended without a fault.
func (e *Events) watchOnce(ctx, turn context.Context, f *follower) bool {
	events := resource{client: e.config.Client, namespace: f.namespace, name: "events"}
	// Without a resource version the watch begins with what exists: an Event that came before the watch was
	// wanted, or while nobody watched, is not missed; nor can the version be too old.
	w, err := events.watch(turn, metav1.ListOptions{FieldSelector: f.selector()})
	if err != nil {
		e.refused(turn, err)
		return false
	}
	defer w.Stop()
	return e.read(ctx, turn, f, w)
}

// refused reports what the API server said instead of letting us watch.
func (e *Events) refused(turn context.Context, err error) {
	if turn.Err() == nil {
		e.config.Report(false, "watch events: "+worded(err, remedyEvents))
	}
}

// read takes in a watch's events until it ends or its turn is over, and says whether it ended
// without a fault.
func (e *Events) read(ctx, turnContext context.Context, f *follower, w watch.Interface) bool {
	r := e.begin(ctx, f)
	defer r.end(ctx)
	turns, idle := time.NewTicker(slice), time.NewTimer(f.linger())
	defer r.proof.timer.Stop()
	defer turns.Stop()
	defer idle.Stop()
	let := false // by an event or by time, the API server lets us watch
	for {
		select {
		case <-turnContext.Done():
			return true
		case <-r.proof.timer.C:
			let, r.proven, f.failures = true, true, 0
			e.config.Report(true, "watching")
			e.proved(f)
			r.settle()
		case <-turns.C:
			if e.isOver(r) {
				return true
			}
		case <-f.changed:
			r.hand(r.meet)
			if r.proven {
				r.settle()
			}
			idle.Reset(f.linger())
		case <-idle.C:
			if f.alone == nil && e.retire(f) {
				return true
			}
		case event, ok := <-w.ResultChan():
			if !ok {
				if !let {
					e.refused(turnContext, errClosedAtOnce)
				}
				return let
			}
			if event.Type == watch.Error {
				// After a while it is the end of this watch only, e.g. of its history in etcd (410).
				if !let {
					e.refused(turnContext, apierrors.FromObject(event.Object))
				}
				return false
			}
			if !let {
				let = true
				e.config.Report(true, "watching")
			}
			r.hand(func() { r.take(event) })
		}
	}
}
