package podwatch

import (
	"context"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// catchUp is how long after a watch was opened its events may still be about the time before: the
// API server sends what a watch has missed at once, in a burst without an end mark.
const catchUp = time.Second

// store is what the reflector keeps up to date: it turns changes into observations, and holds of
// each pod what the latest observation said. The reflector calls Replace with a list, and Add,
// Update and Delete with the events of a watch, all from one goroutine: so where a change came from
// is known, which an informer's handlers are not told.
type store struct {
	ctx  context.Context // of Run: the reflector's interface has no place for it
	pods *Pods
	seen map[string]timeline.Pod // by UID: a name can be used again between two lists
	// known are UIDs from before this store, until the first list. How those pods were last is not known, so
	// each that is still there is observed.
	known []string
	// listed says that the first list was taken in: what comes new from then on is new.
	listed bool
}

func newStore(ctx context.Context, pods *Pods) *store {
	return &store{ctx: ctx, pods: pods, seen: map[string]timeline.Pod{}, known: pods.config.Known}
}

// Add implements cache.ReflectorStore.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *store) Update(obj any) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("take in watch event: unexpected %T", obj)
	}
	now := s.pods.config.Now()
	s.observe(pod, now, s.live(now))
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *store) Delete(obj any) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("take in watch event: unexpected %T", obj)
	}
	now := s.pods.config.Now()
	if _, known := s.seen[string(pod.UID)]; !known {
		return nil
	}
	s.observe(pod, now, s.live(now)) // the last state comes with the deletion alone
	s.gone(string(pod.UID), now, s.live(now))
	return nil
}

// Replace implements cache.ReflectorStore. What is not in the list was deleted while nobody watched.
func (s *store) Replace(list []any, version string) error {
	now := s.pods.config.Now()
	listed := make(map[string]bool, len(list))
	for _, obj := range list {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return fmt.Errorf("take in list: unexpected %T", obj)
		}
		listed[string(pod.UID)] = true
	}
	for uid := range s.seen {
		if !listed[uid] {
			s.gone(uid, now, false)
		}
	}
	for _, uid := range s.known {
		if !listed[uid] {
			s.gone(uid, now, false)
		}
	}
	s.known = nil
	for _, obj := range list {
		s.observe(obj.(*corev1.Pod), now, false)
	}
	s.pods.config.Objects.heard(version)
	s.listed = true
	s.pods.onSynced(len(list))
	return nil
}

// UpdateResourceVersion implements cache.ResourceVersionUpdater: it comes with every event, bookmarks included.
func (s *store) UpdateResourceVersion(version string) { s.pods.config.Objects.heard(version) }

// Resync implements cache.ReflectorStore; there is none.
func (s *store) Resync() error { return nil }

// live says whether what arrives now through the watch has just happened.
func (s *store) live(now time.Time) bool {
	return now.Sub(time.Unix(0, s.pods.openedAt.Load())) >= catchUp
}

func (s *store) observe(pod *corev1.Pod, now time.Time, live bool) {
	if err := s.pods.config.Objects.keep(pod); err != nil {
		s.pods.config.Report(true, err.Error()) // its timeline is what counts
	}
	s.look(string(pod.UID), pod)
	converted := convertPod(pod)
	if !s.pods.config.Traits {
		converted.Traits = nil
	}
	known, ok := s.seen[converted.UID]
	// The mirror of a static pod may be made again, with the counts of the one before.
	s.pods.restarts.observe(pod, !ok && (!s.listed || converted.RuntimeUID != converted.UID))
	if ok && !known.DeletedAt.IsZero() && known.DeletedAt.Before(converted.DeletedAt) {
		// Kubelet ends a deletion by asking for it again without grace, which moves the stamp.
		converted.DeletedAt = known.DeletedAt
	}
	if ok && reflect.DeepEqual(known, converted) {
		return // e.g. only an annotation changed
	}
	s.seen[converted.UID] = converted
	s.pods.config.Observe(s.ctx, timeline.PodSeen{ArrivedAt: now, Live: live, Pod: converted})
}

func (s *store) look(uid string, pod *corev1.Pod) {
	if s.pods.config.Look != nil {
		s.pods.config.Look(uid, pod)
	}
}

func (s *store) gone(uid string, now time.Time, live bool) {
	delete(s.seen, uid)
	s.look(uid, nil)
	s.pods.config.Objects.forget(uid)
	s.pods.restarts.forget(uid)
	s.pods.config.Observe(s.ctx, timeline.PodGone{UID: uid, ArrivedAt: now, Live: live})
}
