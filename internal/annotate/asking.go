package annotate

import (
	"bytes"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations by which a pod asks, and those that it gets.
const (
	AskStartUp = "podlapse.dev/annotate" // with the value true: for StartUp, once the start-up is over
	StartUp    = "podlapse.dev/startup"
	AskTime    = "addtime" // with any value: for Time, at once
	Time       = "timestamp"
)

// Manager is the field manager to which the API server ascribes what is written.
const Manager = "podlapse"

// asking is a pod of this node that asks for what it has not got.
type asking struct {
	uid, namespace, name string
	version              string // of the object that this was read from
	startUp, time        bool   // what it lacks
	// owned are annotations that were written here before. Server-side apply removes what its manager stops naming.
	owned map[string]string
}

// read says what a pod asks for and lacks; nothing while it is about to vanish.
func read(pod *corev1.Pod) (asking, bool) {
	has := func(name string) bool { _, ok := pod.Annotations[name]; return ok }
	a := asking{
		startUp: pod.Annotations[AskStartUp] == "true" && !has(StartUp),
		time:    has(AskTime) && !has(Time),
	}
	if !a.startUp && !a.time || pod.DeletionTimestamp != nil {
		return asking{}, false
	}
	// The object is not kept, so neither are its texts.
	a.uid, a.namespace, a.name = string(pod.UID), strings.Clone(pod.Namespace), strings.Clone(pod.Name)
	a.version = strings.Clone(pod.ResourceVersion)
	for _, name := range []string{StartUp, Time} {
		if value, ok := pod.Annotations[name]; ok && owns(pod.ManagedFields, name) {
			if a.owned == nil {
				a.owned = map[string]string{}
			}
			a.owned[name] = strings.Clone(value)
		}
	}
	return a, true
}

// owns says whether the manager applied an annotation and nobody changed it since. Fields are keys
// of JSON with a prefix (k8s.io/apimachinery, FieldsV1): nothing that an annotation's name can hold
// needs to be escaped there.
func owns(fields []metav1.ManagedFieldsEntry, annotation string) bool {
	for _, entry := range fields {
		if entry.Manager == Manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.FieldsV1 != nil &&
			bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:`+annotation+`"`)) {
			return true
		}
	}
	return false
}
