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

// podStore is the store that the reflector updates. podStore converts changes to observations and remembers the latest
// observation of each pod. The reflector calls Replace with a list, and Add, Update and Delete with the events of a
// watch, all on one goroutine. So, unlike the handlers of an informer, podStore knows whether a change comes from a
// list or from a watch. A Verifier can repair the store from another goroutine.
type podStore struct {
	ctx  context.Context // set by Run, because the reflector's interface has no parameter for a context
	pods *Pods
	seen map[string]seenPod // by UID, because a new pod can replace a pod with the same name between two lists
	// mirrorOf maps the runtime's UID of a static pod to the UID of its mirror pod. The map "seen" contains mirror pods
	// under their own UIDs.
	mirrorOf map[string]string
	// Until the first list, knownBefore holds the UIDs of pods that a previous agent observed. The store does not know
	// the last states of the pods in knownBefore. So for each pod in knownBefore that still exists, the store passes an
	// observation to Observe.
	knownBefore []string
	// listed is true after the first list. A pod that first appears after the first list is new.
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

// observePresent processes a pod that the watch reports as present. The argument "added" is true if the pod is new to
// the watch.
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

// Replace implements cache.ReflectorStore. Replace removes pods that are absent from the list, because these pods were
// deleted while no watch was open. Replace keeps a pod if the Verifier knows that the pod is newer than the list.
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
	// Process ordinary pods before mirrors, so that no mirror can take the UID of an ordinary pod.
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

// isLive reports whether the watch delivers only new changes. A watch that has just opened also delivers older changes.
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
		// Continue although the Keeper cannot keep the object, because the pod's timeline is more important.
		s.pods.config.Report(true, pod.packing.Error())
	} else {
		pod.keep()
	}
	converted := s.assignUID(pod.converted, now)
	known, ok := s.seen[converted.UID]
	// The kubelet can recreate the mirror of a static pod with the restart counts of the previous mirror.
	s.pods.restarts.countRestarts(pod.Pod, !ok && (!s.listed || isMirror(converted)))
	s.pods.config.Follower.Seen(pod.Pod)
	if ok && !known.deletedAt.IsZero() && known.deletedAt.Before(converted.DeletedAt) {
		// At the end of a deletion, the kubelet sends a second delete request with a grace period of 0. The second
		// request changes the timestamp of the deletion, so keep the first timestamp.
		converted.DeletedAt = known.deletedAt
	}
	digest, valid := digestOf(converted)
	if ok && valid && known.digest == digest {
		return // for example, only an annotation changed
	}
	s.seen[converted.UID] = seenOf(converted, digest, isMirror(converted) || s.measuresDelays())
	s.pods.config.Observe(s.ctx, timeline.PodSeen{ArrivedAt: now, Live: live, Pod: converted})
}

func (s *podStore) measuresDelays() bool { return s.pods.config.Delays != (noDelays{}) }

// ignoreOversized records that a pod is present but has too many containers to observe. A timeline with only some of
// the containers would be wrong.
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
