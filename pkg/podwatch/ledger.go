package podwatch

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// maxTombstones limits the tombstones. A tombstone is a pod that a comparison found to be gone, but whose
// removal the watch has not reported yet.
const maxTombstones = 256

// ledger records the version of each pod in the store. The versions allow comparisons of the store with a list.
// The versions also prevent late watch events from undoing changes from a list. A nil ledger records nothing and
// knows no version.
type ledger struct {
	versions   map[string]string // by UID
	tombstones []string          // UIDs, the oldest first
}

// isOlder reports whether a version of a pod is older than the known version, or whether the pod has a tombstone.
func (l *ledger) isOlder(uid, version string) bool {
	if l == nil {
		return false
	}
	return slices.Contains(l.tombstones, uid) || isBefore(version, l.versions[uid])
}

// newerThan reports whether the known version of a pod is newer than a list.
func (l *ledger) newerThan(uid, list string) bool { return l != nil && isBefore(list, l.versions[uid]) }

func (l *ledger) note(uid, version string) {
	if l != nil {
		l.versions[uid] = version
	}
}

func (l *ledger) gone(uid string) {
	if l != nil {
		delete(l.versions, uid)
	}
}

// addTombstone records that a comparison found a pod to be gone. Later watch events about the pod are outdated.
func (l *ledger) addTombstone(uid string) {
	l.tombstones = append(l.tombstones, uid)
	l.tombstones = l.tombstones[max(0, len(l.tombstones)-maxTombstones):]
}

// removeTombstone removes the tombstone of a pod after the watch has also reported its removal.
func (l *ledger) removeTombstone(uid string) {
	if l != nil {
		l.tombstones = slices.DeleteFunc(l.tombstones, func(buried string) bool { return buried == uid })
	}
}

// isBefore compares versions of pods. Versions grow (KEP-5504; earlier versions are etcd's revisions). A version that
// is not a number is not before any other version.
func isBefore(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
