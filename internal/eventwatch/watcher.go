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
	// Only a shared watch receives signals through changed. changed receives a signal when the list of the watch's pods
	// changes. changed also receives a signal when a pod's own watch stops or has delivered all existing Events.
	// changed also receives a signal when a requested sample (see type revisions) is complete or has failed. The
	// capacity of changed is 1, and senders drop a signal when the channel is full.
	changed chan struct{}

	// The lock of Source guards the fields from "pods" to "yielding".
	pods     []*request         // the pods that share the watch
	cancel   context.CancelFunc // makes the watch release its slot; nil while the watch has no slot
	openedAt time.Time          // time when the watch opened, by the agent's clock; zero while the watch is not open
	served   bool               // the watch has or had a slot
	proven   bool               // the open watch has delivered all existing Events
	yielding bool               // the watch must release its slot for another pod of the namespace

	// Only the goroutine of Source.keepOpen uses the fields below.
	failures int // consecutive failures
	// expiries counts the expired start revisions (status 410). If a watch begins at a valid start revision, the count
	// starts again at zero.
	expiries int
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

// coversPodOf returns true if the watch "other" serves a single pod, and this pod also uses the shared watch w.
func (w *watcher) coversPodOf(other *watcher) bool {
	return other.alone != nil && other.alone.shared == w
}

// delay returns the wait before the watch opens again. The wait grows with the larger of two numbers: consecutive
// failures, and expired start revisions. Each expired revision costs the API server another list and another watch.
func (w *watcher) delay() time.Duration {
	return kubeclient.Retries().Delay(max(w.failures, w.expiries))
}

// refresh makes an open shared watch update the list of its pods.
func (w *watcher) refresh() { signal(w.changed) }

// selector returns the field selector of the watch. The field selector cannot select the node, because Events have no
// selectable field for the node. Field selectors have no OR, so a shared watch cannot select its pods by UID. If
// withoutStarts is true, the API server does not send Events with the reason Created or Started. In a start-up with
// image pulls, half of the Events have one of these two reasons.
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

// linger returns how long a shared watch stays open while it serves no pod. A watch on a single pod ignores linger.
func (w *watcher) linger() time.Duration {
	if w.namespace == "" {
		return clusterLinger
	}
	return linger
}
