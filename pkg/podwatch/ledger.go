package podwatch

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// maxTombstones limits the tombstones: pods that a comparison found to be gone and whose removal
// the watch has yet to report.
const maxTombstones = 256

// ledger records the version of each pod in the store, so that the store can be compared with a
// list, and so that late watch events do not undo what a list showed. A nil ledger records nothing
// and knows no version.
type ledger struct {
	versions   map[string]string // by UID
	tombstones []string          // UIDs, the oldest first
}

// older reports whether a version of a pod is not newer than the known version.
func (l *ledger) older(uid, version string) bool {
	if l == nil {
		return false
	}
	return slices.Contains(l.tombstones, uid) || before(version, l.versions[uid])
}

// newerThan reports whether the known version of a pod is newer than a list.
func (l *ledger) newerThan(uid, list string) bool { return l != nil && before(list, l.versions[uid]) }

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

// addTombstone notes that a comparison found a pod to be gone. Later watch events about it are
// outdated.
func (l *ledger) addTombstone(uid string) {
	l.tombstones = append(l.tombstones, uid)
	l.tombstones = l.tombstones[max(0, len(l.tombstones)-maxTombstones):]
}

// removeTombstone removes the tombstone of a pod once the watch has reported its removal as well.
func (l *ledger) removeTombstone(uid string) {
	if l != nil {
		l.tombstones = slices.DeleteFunc(l.tombstones, func(buried string) bool { return buried == uid })
	}
}

// before compares versions of pods, which grow (KEP-5504; before that, etcd's revisions). A version that is not a
// number is not before any other.
func before(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
