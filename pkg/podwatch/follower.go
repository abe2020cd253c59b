package podwatch

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/fields"
)

// follower keeps a watch open: on one pod, or shared by the pods of a namespace or of all.
type follower struct {
	namespace string        // empty for all
	alone     *want         // the one pod; nil for a shared watch
	changed   chan struct{} // capacity 1, dropped when full: how the pods of a shared watch stand has changed

	// Guarded by the lock of Events.
	pods     []*want            // of a shared watch
	cancel   context.CancelFunc // ends its turn; nil while it has no place
	openedAt time.Time          // agent's clock; zero while it is not open
	served   bool               // it has, or had, a place
	proven   bool               // the open watch has told all there was

	failures int // in a row; of the goroutine that follows
}

func newFollower(namespace string, alone *want) *follower {
	return &follower{namespace: namespace, alone: alone, changed: make(chan struct{}, 1)}
}

func (f *follower) hasPlace() bool { return f != nil && f.cancel != nil }

func (f *follower) isOpen() bool { return !f.openedAt.IsZero() }

// replaces says whether the other is the own watch of a pod that shares this one.
func (f *follower) replaces(other *follower) bool {
	return other.alone != nil && other.alone.shared == f
}

// nudge has an open shared watch look at its pods.
func (f *follower) nudge() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// selector has no term for the node: Events have no such field, and there is no OR.
func (f *follower) selector() string {
	kubelet := fields.OneTermEqualSelector("source", "kubelet")
	if f.alone == nil {
		return kubelet.String()
	}
	return fields.AndSelectors(fields.OneTermEqualSelector("involvedObject.uid", f.alone.watch.InvolvedUID),
		kubelet).String()
}

// linger is how long the watch stays open while it serves nobody.
func (f *follower) linger() time.Duration {
	if f.namespace == "" {
		return clusterLinger
	}
	return linger
}
