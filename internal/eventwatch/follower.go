package eventwatch

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/fields"
)

// follower keeps a watch open: on one pod, or shared by the pods of a namespace or of all
// namespaces.
type follower struct {
	namespace string   // empty for all
	alone     *request // the pod; nil for a shared watch
	// Capacity 1, dropped when full: the pods of a shared watch, or the state of their own watches, changed.
	changed chan struct{}

	// Guarded by the lock of Source.
	pods     []*request         // of a shared watch
	cancel   context.CancelFunc // ends its lease; nil while it has no slot
	openedAt time.Time          // agent's clock; zero while it is not open
	served   bool               // it has, or had, a slot
	proven   bool               // the open watch has delivered all existing Events

	failures int // in a row; used by the goroutine that follows
}

func newFollower(namespace string, alone *request) *follower {
	return &follower{namespace: namespace, alone: alone, changed: make(chan struct{}, 1)}
}

func (f *follower) hasSlot() bool { return f != nil && f.cancel != nil }

func (f *follower) isOpen() bool { return !f.openedAt.IsZero() }

// replaces reports whether other is the own watch of a pod that shares this one.
func (f *follower) replaces(other *follower) bool {
	return other.alone != nil && other.alone.shared == f
}

// nudge makes an open shared watch check which pods it serves.
func (f *follower) nudge() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// selector has no term for the node: Events have no such field, and field selectors have no OR.
func (f *follower) selector() string {
	kubelet := fields.OneTermEqualSelector("source", "kubelet")
	if f.alone == nil {
		return kubelet.String()
	}
	return fields.AndSelectors(fields.OneTermEqualSelector("involvedObject.uid", f.alone.watch.InvolvedUID),
		kubelet).String()
}

// linger returns how long the watch stays open while it serves no pod.
func (f *follower) linger() time.Duration {
	if f.namespace == "" {
		return clusterLinger
	}
	return linger
}
