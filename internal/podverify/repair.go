package podverify

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podlapse/podlapse/pkg/podwatch"
)

// listing holds the pods that the API server listed.
type listing struct {
	version  string            // version of the list
	versions map[string]string // versions of the pods, by UID
	keep     map[string]bool   // UIDs of the pods whose objects the caller needs
	objects  map[string]runtime.Object
}

// findings holds the results of one comparison.
type findings struct {
	at                    time.Time
	pods                  int
	missing, extra, stale int
}

// differences returns the UIDs of the pods whose state in the list differs from the state in the store.
func (v *Verifier) differences(pods watched, list listing) map[string]bool {
	open := map[string]bool{}
	pods.Change(func(now podwatch.Changes) {
		for uid := range list.versions {
			if isMissing(now, uid, list) || v.isStale(now, uid, list) {
				open[uid] = true
			}
		}
		for uid := range now.UIDs() {
			if v.isExtra(uid, list) {
				open[uid] = true
			}
		}
	})
	return open
}

// isMissing reports whether a list contains a pod that the store does not contain. The pod can have been deleted after
// the API server sent the list. Therefore, the caller checks a second list.
func isMissing(now podwatch.Changes, uid string, list listing) bool {
	_, listed := list.versions[uid]
	return listed && !now.Has(uid)
}

// isStale reports whether a list contains a newer version of a pod than the store.
func (v *Verifier) isStale(now podwatch.Changes, uid string, list listing) bool {
	return now.Has(uid) && isBefore(v.versions[uid], list.versions[uid])
}

// isExtra reports whether the store contains a pod that the list does not contain. The result is false if the list is
// not newer than the pod's version in the store.
func (v *Verifier) isExtra(uid string, list listing) bool {
	_, listed := list.versions[uid]
	return !listed && isBefore(v.versions[uid], list.version)
}

// repair fixes and counts each pod whose state in the store differs from both lists. If the watch has reported
// the change in the meantime, the pod in the store no longer differs, and repair skips the pod.
func (v *Verifier) repair(pods watched, first, second listing, found *findings) {
	pods.Change(func(now podwatch.Changes) {
		for uid := range second.keep {
			object := second.objects[uid]
			switch {
			case isMissing(now, uid, first) && object != nil:
				found.missing++
				v.Deleted(uid)
				now.Observe(object)
			case v.isStale(now, uid, first) && object != nil:
				found.stale++
				now.Observe(object)
			case v.isExtra(uid, first) && v.isExtra(uid, second):
				found.extra++
				now.Remove(uid)
				v.addTombstone(uid)
			}
		}
	})
}
