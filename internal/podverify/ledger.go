package podverify

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// maxTombstones limits the tombstones. A tombstone is a pod that a comparison found to be gone, but whose
// removal the watch has not reported yet.
const maxTombstones = 256

// ledger records the version of each pod in the store. The versions allow comparisons of the store with a list.
// The versions also prevent late watch events from undoing changes from a list.
type ledger struct {
	versions   map[string]string // by UID
	tombstones []string          // UIDs, the oldest first
}

// Older reports whether a version of a pod is older than the known version, or whether the pod has a
// tombstone.
func (l *ledger) Older(uid, version string) bool {
	return slices.Contains(l.tombstones, uid) || isBefore(version, l.versions[uid])
}

// NewerThan reports whether the known version of a pod is newer than a list.
func (l *ledger) NewerThan(uid, list string) bool { return isBefore(list, l.versions[uid]) }

// Note records a version of a pod that the store contains.
func (l *ledger) Note(uid, version string) {
	l.versions[uid] = version
}

// Gone forgets the version of a pod.
func (l *ledger) Gone(uid string) {
	delete(l.versions, uid)
}

// addTombstone records that a comparison found a pod to be gone. Later watch events about the pod are outdated.
func (l *ledger) addTombstone(uid string) {
	l.tombstones = append(l.tombstones, uid)
	l.tombstones = l.tombstones[max(0, len(l.tombstones)-maxTombstones):]
}

// Deleted removes the tombstone of a pod, because the watch has now reported the removal of this pod.
func (l *ledger) Deleted(uid string) {
	l.tombstones = slices.DeleteFunc(l.tombstones, func(tombstone string) bool { return tombstone == uid })
}

// isBefore compares versions of pods. Versions grow (KEP-5504; earlier versions are etcd's revisions). A version that
// is not a number is not before any other version.
func isBefore(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
