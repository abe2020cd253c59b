package podwatch

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// podStore is the store that client-go's reflector updates. podStore creates observations from the changes of pods, and
// remembers the latest observation of each pod. The reflector calls Replace with the result of a list request. The
// reflector calls Add, Update and Delete with the events of a watch. The reflector makes all these calls on one
// goroutine. So podStore, unlike the handlers of an informer, knows whether a change comes from a list or from a watch.
// A Verifier can correct the store from another goroutine.
type podStore struct {
	ctx  context.Context // set by Run; the methods that the reflector calls have no context parameter
	pods *Pods
	seen map[string]seenPod // by UID: between two lists, a new pod can take the name of a deleted pod
	// mirrorOf maps the UID of a static pod in the runtime to the UID of its mirror pod. In the map "seen", the key of
	// a mirror pod is the mirror pod's own UID.
	mirrorOf map[string]string
	// knownBefore holds the UIDs of the pods that a previous agent observed. After the first list, knownBefore is nil.
	// The store does not know the last states of the pods in knownBefore. So for each of these pods that still exists,
	// the store passes an observation to Observe.
	knownBefore []string
	// listed is true after the first list. If the store first sees a pod after the first list, the pod is new.
	listed bool

	mu sync.Mutex // held during each change, including changes by the Verifier
}

func newStore(pods *Pods) *podStore {
	return &podStore{
		pods: pods, seen: map[string]seenPod{}, mirrorOf: map[string]string{}, knownBefore: pods.config.Known,
	}
}

var _ cache.TransformingStore = (*podStore)(nil)

// Add implements cache.ReflectorStore.
func (s *podStore) Add(obj any) error { return s.observePresent(obj, true) }

// Update implements cache.ReflectorStore.
func (s *podStore) Update(obj any) error { return s.observePresent(obj, false) }

// observePresent processes a watch event of type ADDED or MODIFIED. The argument "added" is true for the type ADDED.
func (s *podStore) observePresent(obj any, added bool) error {
	pod, err := s.pods.arrivalOf(obj)
	if err != nil {
		return fmt.Errorf("handle watch event: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.pods.config.Now()
	if added {
		s.pods.config.Delays.Added(pod.Pod, now)
	}
	if s.pods.config.Verifier.Older(string(pod.UID), pod.ResourceVersion) {
		return nil
	}
	if known := s.seen[string(pod.UID)]; known.whole != nil {
		s.pods.config.Delays.Changed(*known.whole, pod.Pod, now)
	}
	s.observe(pod, now, s.isLive(now))
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *podStore) Delete(obj any) error {
	pod, err := s.pods.arrivalOf(obj)
	if err != nil {
		return fmt.Errorf("handle watch event: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods.config.Verifier.Deleted(string(pod.UID))
	now := s.pods.config.Now()
	s.pods.config.Delays.Deleted(pod.Pod, now)
	if _, known := s.seen[string(pod.UID)]; !known {
		return nil
	}
	s.observe(pod, now, s.isLive(now)) // only the deletion event contains the last state
	s.observeGone(string(pod.UID), now, s.isLive(now))
	return nil
}

// Replace implements cache.ReflectorStore. Replace removes each known pod that is absent from the list, because the pod
// was deleted while no watch was open. But if the Verifier reports that the pod is newer than the list, Replace keeps
// the pod.
func (s *podStore) Replace(list []any, version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.pods.config.Now()
	listed := make(map[string]bool, len(list))
	pods := make([]*arrival, 0, len(list))
	for _, obj := range list {
		pod, err := s.pods.arrivalOf(obj)
		if err != nil {
			return fmt.Errorf("read the list of pods: %w", err)
		}
		listed[string(pod.UID)] = true
		pods = append(pods, pod)
	}
	for uid := range s.seen {
		if !listed[uid] && !s.pods.config.Verifier.NewerThan(uid, version) {
			s.observeGone(uid, now, false)
		}
	}
	for _, uid := range s.knownBefore {
		if !listed[uid] {
			s.observeGone(uid, now, false)
		}
	}
	s.knownBefore = nil
	// Process ordinary pods before mirror pods, so that no mirror pod takes the UID of an ordinary pod.
	slices.SortStableFunc(pods, func(a, b *arrival) int {
		switch isMirror(a.converted) {
		case isMirror(b.converted):
			return 0
		case true:
			return 1
		}
		return -1
	})
	dropped := new(corev1.Pod)
	for _, pod := range pods {
		if !s.pods.config.Verifier.Older(string(pod.UID), pod.ResourceVersion) {
			s.observe(pod, now, false)
		}
		// The reflector holds the whole list until Replace returns, so free the fields of each processed pod now.
		*pod = arrival{Pod: dropped}
	}
	s.pods.config.Keeper.Received(version)
	s.listed = true
	s.pods.onSynced(len(list))
	return nil
}

// UpdateResourceVersion implements cache.ResourceVersionUpdater. The reflector calls UpdateResourceVersion for every
// event, including bookmarks.
func (s *podStore) UpdateResourceVersion(version string) { s.pods.config.Keeper.Received(version) }

// Resync implements cache.ReflectorStore. Resync does nothing.
func (s *podStore) Resync() error { return nil }

// isLive reports whether the watch has been open for at least kubeclient.CatchUp. Just after its opening, a watch also
// delivers older changes.
func (s *podStore) isLive(now time.Time) bool {
	return now.Sub(time.Unix(0, s.pods.openedAt.Load())) >= kubeclient.CatchUp
}

func (s *podStore) observe(pod *arrival, now time.Time, live bool) {
	s.pods.config.Verifier.Note(string(pod.UID), pod.ResourceVersion)
	if pod.containers > maxContainers {
		s.ignoreOversized(pod)
		return
	}
	if pod.packing != nil {
		// The Keeper cannot keep this pod object. Continue anyway, because the pod's timeline is more important.
		s.pods.config.Report(true, pod.packing.Error())
	} else {
		pod.keep()
	}
	converted := s.assignUID(pod.converted, now)
	known, ok := s.seen[converted.UID]
	// The kubelet can recreate the mirror pod of a static pod. The new mirror pod then starts with the restart counts
	// of the previous mirror pod.
	s.pods.restarts.countRestarts(pod.Pod, !ok && (!s.listed || isMirror(converted)))
	s.pods.config.Follower.Seen(pod.Pod)
	if ok && !known.deletedAt.IsZero() && known.deletedAt.Before(converted.DeletedAt) {
		// At the end of a deletion, the kubelet sends a second delete request with a grace period of 0. The second
		// request changes the timestamp of the deletion, so keep the first timestamp.
		converted.DeletedAt = known.deletedAt
	}
	digest, valid := digestOf(converted)
	if ok && valid && known.digest == digest {
		return // the observation is the same; for example, only an annotation changed
	}
	s.seen[converted.UID] = seenOf(converted, digest, isMirror(converted) || s.measuresDelays())
	s.pods.config.Observe(s.ctx, timeline.PodSeen{ArrivedAt: now, Live: live, Pod: converted})
}

func (s *podStore) measuresDelays() bool { return s.pods.config.Delays != (noDelays{}) }

// ignoreOversized remembers a pod that has more than maxContainers containers, but creates no observation of this pod.
// A timeline with only some of the containers would be wrong.
func (s *podStore) ignoreOversized(pod *arrival) {
	uid := string(pod.UID)
	if _, known := s.seen[uid]; known {
		return
	}
	s.seen[uid] = seenOf(timeline.Pod{UID: uid, RuntimeUID: uid}, [sha256.Size]byte{}, s.measuresDelays())
	s.pods.config.Report(true, fmt.Sprintf("ignoring pod %s/%s: %d containers exceed the limit of %d",
		pod.Namespace, pod.Name, pod.containers, maxContainers))
}

func (s *podStore) observeGone(uid string, now time.Time, live bool) {
	s.releaseUID(uid)
	delete(s.seen, uid)
	s.pods.config.Verifier.Gone(uid)
	s.pods.config.Keeper.Forget(uid)
	s.pods.restarts.forget(uid)
	s.pods.config.Follower.Gone(uid)
	s.pods.config.Observe(s.ctx, timeline.PodGone{UID: uid, ArrivedAt: now, Live: live})
}
