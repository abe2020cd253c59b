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
			if missing(now, uid, list) || v.stale(now, uid, list) {
				open[uid] = true
			}
		}
		for uid := range now.UIDs() {
			if v.extra(uid, list) {
				open[uid] = true
			}
		}
	})
	return open
}

// The function "missing" reports whether a list contains a pod that the store does not contain. The result is also true
// for a pod that was deleted after the API server sent the list, so the caller checks a second list.
func missing(now podwatch.Changes, uid string, list listing) bool {
	_, listed := list.versions[uid]
	return listed && !now.Has(uid)
}

// The method "stale" reports whether a list contains a newer version of a pod than the store.
func (v *Verifier) stale(now podwatch.Changes, uid string, list listing) bool {
	return now.Has(uid) && isBefore(v.versions[uid], list.versions[uid])
}

// The method "extra" reports whether a pod is in the store but not in the list, although the list is newer than the
// store's version of the pod.
func (v *Verifier) extra(uid string, list listing) bool {
	_, listed := list.versions[uid]
	return !listed && isBefore(v.versions[uid], list.version)
}

// repair fixes and counts each pod whose state in the store differs from both lists. repair skips a pod if the store no
// longer differs from the lists, because the watch has reported the change.
func (v *Verifier) repair(pods watched, first, second listing, found *findings) {
	pods.Change(func(now podwatch.Changes) {
		for uid := range second.keep {
			object := second.objects[uid]
			switch {
			case missing(now, uid, first) && object != nil:
				found.missing++
				v.Deleted(uid)
				now.Observe(object)
			case v.stale(now, uid, first) && object != nil:
				found.stale++
				now.Observe(object)
			case v.extra(uid, first) && v.extra(uid, second):
				found.extra++
				now.Remove(uid)
				v.addTombstone(uid)
			}
		}
	})
}
