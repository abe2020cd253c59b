package podverify

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// maxTombstones is the maximum number of tombstones. A tombstone is an entry for a deleted pod. The Verifier adds a
// tombstone if a list shows the deletion before the watch does. The entry exists until the watch also reports the
// deletion.
const maxTombstones = 256

// ledger records the version of each pod in the store. The Verifier uses the versions to compare the store with a list.
// The pod watch uses the versions to ignore an event if the store already contains a newer version of the pod.
type ledger struct {
	versions   map[string]string // resource versions of the pods in the store, by UID
	tombstones []string          // UIDs of pods with a tombstone, oldest first
}

// Older returns true if the given version of a pod is older than the known version, or if the pod has a tombstone.
func (l *ledger) Older(uid, version string) bool {
	return slices.Contains(l.tombstones, uid) || isBefore(version, l.versions[uid])
}

// NewerThan reports whether the known version of a pod is newer than the version of a list.
func (l *ledger) NewerThan(uid, list string) bool { return isBefore(list, l.versions[uid]) }

// Note sets the known version of a pod: the version in the store.
func (l *ledger) Note(uid, version string) {
	l.versions[uid] = version
}

// Gone removes the known version of a pod.
func (l *ledger) Gone(uid string) {
	delete(l.versions, uid)
}

// addTombstone adds a tombstone for a pod. The method Older then returns true for this pod, so the pod watch ignores
// late events about the pod.
func (l *ledger) addTombstone(uid string) {
	l.tombstones = append(l.tombstones, uid)
	l.tombstones = l.tombstones[max(0, len(l.tombstones)-maxTombstones):]
}

// Deleted removes the tombstone of a pod, for example after the watch has reported the pod's deletion.
func (l *ledger) Deleted(uid string) {
	l.tombstones = slices.DeleteFunc(l.tombstones, func(tombstone string) bool { return tombstone == uid })
}

// isBefore compares versions of pods. A later resource version is a larger number (KEP-5504; in earlier Kubernetes
// versions, resource versions are revisions of etcd). If a version is not a number, isBefore returns false.
func isBefore(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
