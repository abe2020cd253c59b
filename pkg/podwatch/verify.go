package podwatch

import (
	"context"
	"iter"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podlapse/podlapse/internal/kubeclient"
)

// Verifier compares the watched pods with the API server and decides which reported states are outdated. The type Pods
// holds its lock while it calls any method except Run. Pods.Change needs the same lock, so these methods must not call
// Pods.Change.
type Verifier interface {
	// Run compares the watched pods with the API server until ctx ends. Pods.Run calls Run on a separate goroutine and
	// waits until Run returns.
	Run(ctx context.Context, pods *Pods)
	// Older reports whether the reported version of a pod is outdated. The type Pods ignores outdated versions.
	Older(uid, version string) bool
	// NewerThan reports whether the known version of a pod is newer than a list that does not contain the pod.
	NewerThan(uid, list string) bool
	// Note receives each version of a pod that the type Pods processes.
	Note(uid, version string)
	// Gone is called when the type Pods has removed a pod.
	Gone(uid string)
	// Deleted is called when the watch has reported the deletion of a pod. If the pod is among the watched pods, the
	// type Pods then also calls Gone.
	Deleted(uid string)
}

// noVerifier is used if no Verifier is configured.
type noVerifier struct{}

func (noVerifier) Run(context.Context, *Pods)    {}
func (noVerifier) Older(string, string) bool     { return false }
func (noVerifier) NewerThan(string, string) bool { return false }
func (noVerifier) Note(string, string)           {}
func (noVerifier) Gone(string)                   {}
func (noVerifier) Deleted(string)                {}

// Changes lets a Verifier read and change the watched pods during a call of Pods.Change.
type Changes interface {
	// Has reports whether a pod with this UID is among the watched pods.
	Has(uid string) bool
	// UIDs returns the UIDs of all watched pods.
	UIDs() iter.Seq[string]
	// Observe processes a newer state of a pod. The argument must be a result of Pods.Compact.
	Observe(pod runtime.Object)
	// Remove removes a pod that no longer exists from the watched pods.
	Remove(uid string)
}

// Change calls the function "change", which can change the watched pods. While the function "change" runs, nothing else
// changes the watched pods.
func (p *Pods) Change(change func(Changes)) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	change(p.store)
}

// OpenFor returns true if two conditions are met: the agent has received a complete list, and the watch has been open
// for at least the time in the argument "atLeast".
func (p *Pods) OpenFor(atLeast time.Duration) bool {
	return p.synced.Load() && p.open.Load() && p.config.Now().Sub(time.Unix(0, p.openedAt.Load())) >= atLeast
}

// ListPage sends one list request for the pods of the node, and calls the function "visit" for each pod. The function
// "visit" must not keep the pod.
func (p *Pods) ListPage(
	ctx context.Context, options metav1.ListOptions, visit func(*corev1.Pod),
) (metav1.ListMeta, error) {
	options.FieldSelector = p.selector()
	return p.resource.readList(ctx, options, visit)
}

// Compact copies the parts of a pod that Changes.Observe needs.
func (p *Pods) Compact(pod *corev1.Pod) runtime.Object { return p.arrive(pod) }

// Verified reports to the Keeper that the Keeper's objects contain all changes up to the given time.
func (p *Pods) Verified(at time.Time) { p.config.Keeper.Verified(at) }

// Explain returns the text of an error from ListPage. If the API server refused the request, the text also contains a
// remedy.
func (p *Pods) Explain(err error) string { return kubeclient.Explain(err, p.remedy()) }

// Has implements Changes.
func (s *podStore) Has(uid string) bool { _, seen := s.seen[uid]; return seen }

// UIDs implements Changes.
func (s *podStore) UIDs() iter.Seq[string] { return maps.Keys(s.seen) }

// Observe implements Changes.
func (s *podStore) Observe(pod runtime.Object) {
	if a, ok := pod.(*arrival); ok {
		s.observe(a, s.pods.config.Now(), false)
	}
}

// Remove implements Changes.
func (s *podStore) Remove(uid string) { s.observeGone(uid, s.pods.config.Now(), false) }
