package eventwatch

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/podlapse/podlapse/internal/kubeclient"
)

// watcher keeps one watch open. A watch serves a single pod, the pods of one namespace, or the pods of all namespaces.
type watcher struct {
	namespace string   // empty means all namespaces
	alone     *request // the only pod of the watch; nil for a shared watch
	// For a shared watch, changed receives a signal when the list of its pods changes. changed also receives a signal
	// in three cases: a pod's own watch has delivered all existing Events, a pod's own watch stops, or the request for
	// a sample (see type revisions) has ended. The capacity is 1, and senders drop a signal when the channel is full.
	changed chan struct{}

	// The lock of Source guards the fields from "pods" to "yielding".
	pods     []*request         // the pods that share the watch
	cancel   context.CancelFunc // makes the watch release its slot; nil while the watch has no slot
	openedAt time.Time          // time when the watch opened, by the agent's clock; zero while the watch is not open
	served   bool               // the watch has or had a slot
	proven   bool               // the open watch has delivered all existing Events
	yielding bool               // the watch gives up its slot, and another pod of the namespace gets the slot

	// Only the goroutine of Source.keepOpen uses the fields below.
	failures int // consecutive failures
	expiries int // number of expired revisions (status 410) since a watch last proved that its revision was valid
}

func newWatcher(namespace string, alone *request) *watcher {
	return &watcher{namespace: namespace, alone: alone, changed: make(chan struct{}, 1)}
}

func (w *watcher) hasSlot() bool { return w != nil && w.cancel != nil }

func (w *watcher) isOpen() bool { return !w.openedAt.IsZero() }

// requests returns the pods that the watch serves. The caller must hold the lock of Source.
func (w *watcher) requests() []*request {
	if w.alone != nil {
		return []*request{w.alone}
	}
	return w.pods
}

// coversPodOf reports whether the watch "other" serves a single pod that also uses the shared watch w.
func (w *watcher) coversPodOf(other *watcher) bool {
	return other.alone != nil && other.alone.shared == w
}

// delay returns the wait before the watch opens again. The wait grows with each consecutive failure and with each
// expired revision. Each expired revision costs the API server another list and another watch.
func (w *watcher) delay() time.Duration {
	return kubeclient.Retries().Delay(max(w.failures, w.expiries))
}

// refresh makes an open shared watch update the list of its pods.
func (w *watcher) refresh() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// selector returns the field selector of the watch. The field selector cannot select the node, because Events have no
// selectable field for the node. Field selectors have no OR, so a shared watch cannot select its pods by UID. If
// withoutStarts is true, the API server does not send the Events Created and Started, which are half of the Events of a
// start-up with pulls.
func (w *watcher) selector(withoutStarts bool) string {
	terms := []fields.Selector{fields.OneTermEqualSelector("source", "kubelet")}
	if w.alone != nil {
		pod := fields.OneTermEqualSelector("involvedObject.uid", w.alone.watch.InvolvedUID)
		terms = slices.Insert(terms, 0, pod)
	}
	if withoutStarts {
		terms = append(terms, fields.OneTermNotEqualSelector("reason", "Created"),
			fields.OneTermNotEqualSelector("reason", "Started"))
	}
	return fields.AndSelectors(terms...).String()
}

// linger returns how long a shared watch stays open while it serves no pod. The watch of a single pod ignores this
// time.
func (w *watcher) linger() time.Duration {
	if w.namespace == "" {
		return clusterLinger
	}
	return linger
}
