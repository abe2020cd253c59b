package eventwatch

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/fields"
)

// follower keeps one watch open: a watch on one pod, or a watch that the pods of a namespace or of all namespaces
// share.
type follower struct {
	namespace string   // empty means all namespaces
	alone     *request // the only pod of the watch; nil for a shared watch
	// The field changed is a channel of capacity 1, and senders drop signals when it is full. A signal means that the
	// pods of a shared watch changed, or that the own watches of these pods changed.
	changed chan struct{}

	// Guarded by the lock of Source.
	pods     []*request         // the pods that share the watch
	cancel   context.CancelFunc // ends the lease; nil while the watch has no slot
	openedAt time.Time          // by the agent's clock; zero while the watch is not open
	served   bool               // the watch has or had a slot
	proven   bool               // the open watch has delivered all existing Events

	failures int // consecutive failures; only the goroutine in follow uses it
}

func newFollower(namespace string, alone *request) *follower {
	return &follower{namespace: namespace, alone: alone, changed: make(chan struct{}, 1)}
}

func (f *follower) hasSlot() bool { return f != nil && f.cancel != nil }

func (f *follower) isOpen() bool { return !f.openedAt.IsZero() }

// The method requests returns the pods that the watch serves. The caller must hold the lock of Source.
func (f *follower) requests() []*request {
	if f.alone != nil {
		return []*request{f.alone}
	}
	return f.pods
}

// The method replaces reports whether the argument other is the own watch of a pod that also uses the shared watch f.
func (f *follower) replaces(other *follower) bool {
	return other.alone != nil && other.alone.shared == f
}

// The method nudge makes an open shared watch update the list of its pods.
func (f *follower) nudge() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// The method selector returns the field selector of the watch. The result does not select the node, because Events
// have no selectable field for the node. Field selectors also cannot combine conditions with OR.
func (f *follower) selector() string {
	kubelet := fields.OneTermEqualSelector("source", "kubelet")
	if f.alone == nil {
		return kubelet.String()
	}
	return fields.AndSelectors(fields.OneTermEqualSelector("involvedObject.uid", f.alone.watch.InvolvedUID),
		kubelet).String()
}

// The method linger returns the time for which the watch stays open while it serves no pod.
func (f *follower) linger() time.Duration {
	if f.namespace == "" {
		return clusterLinger
	}
	return linger
}
