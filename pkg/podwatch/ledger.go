package podwatch

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// maxBuried bounds the pods of which a comparison found that they are gone and whose end the watch has yet to tell.
const maxBuried = 256

// ledger is which version of each pod the store rests on, so that it can be compared with a list,
// and so that what the watch tells late does not undo what the list told. A nil one keeps nothing
// and knows no version.
type ledger struct {
	versions map[string]string // by UID
	buried   []string          // UIDs, the oldest first
}

// older says that a version of a pod is no news any more.
func (l *ledger) older(uid, version string) bool {
	if l == nil {
		return false
	}
	return slices.Contains(l.buried, uid) || before(version, l.versions[uid])
}

// newerThan says that what is known of a pod is from after a list.
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

// bury notes that a comparison told of a pod's end. What the watch tells of it, later, is from before.
func (l *ledger) bury(uid string) {
	l.buried = append(l.buried, uid)
	l.buried = l.buried[max(0, len(l.buried)-maxBuried):]
}

// exhume forgets that a pod was buried, once the watch told of its end as well.
func (l *ledger) exhume(uid string) {
	if l != nil {
		l.buried = slices.DeleteFunc(l.buried, func(buried string) bool { return buried == uid })
	}
}

// before compares versions of pods, which grow (KEP-5504; etcd's revisions before that). What is no
// number is before nothing.
func before(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
