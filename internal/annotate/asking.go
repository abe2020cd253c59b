package annotate

import (
	"bytes"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations with which a pod requests annotations, and those that it gets.
const (
	AskStartUp = "podlapse.dev/annotate" // with the value true: requests StartUp, once the start-up is over
	StartUp    = "podlapse.dev/startup"
	AskTime    = "addtime" // with any value: requests Time, at once
	Time       = "timestamp"
)

// Manager is the field manager of the annotations.
const Manager = "podlapse"

// asking is a pod of this node with an open request.
type asking struct {
	uid, namespace, name string
	version              string // of the object from which this was read
	startUp, time        bool   // what is missing
	// owned are annotations that this manager wrote before. Server-side apply removes fields that its manager no longer
	// sends.
	owned map[string]string
}

// read returns what a pod requests and lacks; nothing while it is being deleted.
func read(pod *corev1.Pod) (asking, bool) {
	has := func(name string) bool { _, ok := pod.Annotations[name]; return ok }
	a := asking{
		startUp: pod.Annotations[AskStartUp] == "true" && !has(StartUp),
		time:    has(AskTime) && !has(Time),
		owned:   map[string]string{},
	}
	if !a.startUp && !a.time || pod.DeletionTimestamp != nil {
		return asking{}, false
	}
	// The object is not kept, so its texts are copied.
	a.uid, a.namespace, a.name = string(pod.UID), strings.Clone(pod.Namespace), strings.Clone(pod.Name)
	a.version = strings.Clone(pod.ResourceVersion)
	for _, name := range []string{StartUp, Time} {
		if value, ok := pod.Annotations[name]; ok && owns(pod.ManagedFields, name) {
			a.owned[name] = strings.Clone(value)
		}
	}
	return a, true
}

// owns reports whether the manager applied an annotation and no other client changed it since.
// Fields are JSON keys with a prefix (k8s.io/apimachinery, FieldsV1). The characters of an
// annotation's name need no escaping there.
func owns(fields []metav1.ManagedFieldsEntry, annotation string) bool {
	for _, entry := range fields {
		if entry.Manager == Manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.FieldsV1 != nil &&
			bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:`+annotation+`"`)) {
			return true
		}
	}
	return false
}
