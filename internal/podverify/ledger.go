package podverify

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// maxTombstones is the maximum number of tombstones. A tombstone is an entry for a deleted pod. If two lists show the
// deletion before the watch reports it, the Verifier adds a tombstone. If the watch then reports the deletion, the
// agent removes the tombstone. If there are too many tombstones, the Verifier removes the oldest one.
const maxTombstones = 256

// ledger records the resource version of each pod in the store of watched pods. The Verifier uses these versions to
// compare the store with a list. The pod watch uses these versions to ignore events that are older than the pod in the
// store.
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

// Note sets the known version of a pod, which is the version of the pod in the store.
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

// isBefore reports whether resource version a is older than resource version b. A newer version is a larger number, as
// KEP-5504 defines. Before KEP-5504, resource versions are etcd revisions, which are also increasing numbers. If a
// version is not a number, isBefore returns false.
func isBefore(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
