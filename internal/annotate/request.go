package annotate

import (
	"bytes"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The keys of annotations. A user requests an annotation by setting another annotation on the pod.
const (
	// RequestStartUp is the key of the annotation that requests the annotation "podlapse.dev/startup". Only the value
	// "true" is a request. The agent writes "podlapse.dev/startup" after the start-up is over.
	RequestStartUp = "podlapse.dev/annotate"
	StartUp        = "podlapse.dev/startup"
	RequestTime    = "addtime" // any value requests the annotation "timestamp", which the agent writes immediately
	Time           = "timestamp"
)

// Manager is the field manager of the annotations.
const Manager = "podlapse"

// annotationRequest describes a pod of this node and the annotations that the agent must write to this pod.
type annotationRequest struct {
	uid, namespace, name string
	version              string // the pod's resource version when the agent read the request
	startUp, time        bool   // true if the pod requests this annotation but does not have it yet
	// owned holds the annotations that the agent wrote to the pod earlier. If a field manager no longer sends a field
	// that it owns, server-side apply removes the field. Therefore, every request must repeat the annotations in
	// "owned".
	owned map[string]string
}

// readRequest returns the annotations that a pod requests and does not have yet. If no requested annotation is
// missing, or if the pod is being deleted, the second result is false.
func readRequest(pod *corev1.Pod) (annotationRequest, bool) {
	has := func(name string) bool { _, ok := pod.Annotations[name]; return ok }
	a := annotationRequest{
		startUp: pod.Annotations[RequestStartUp] == "true" && !has(StartUp),
		time:    has(RequestTime) && !has(Time),
		owned:   map[string]string{},
	}
	if !a.startUp && !a.time || pod.DeletionTimestamp != nil {
		return annotationRequest{}, false
	}
	// strings.Clone copies a string, so the copy shares no memory with the pod object.
	a.uid, a.namespace, a.name = string(pod.UID), strings.Clone(pod.Namespace), strings.Clone(pod.Name)
	a.version = strings.Clone(pod.ResourceVersion)
	for _, name := range []string{StartUp, Time} {
		if value, ok := pod.Annotations[name]; ok && isOwned(pod.ManagedFields, name) {
			a.owned[name] = strings.Clone(value)
		}
	}
	return a, true
}

// isOwned reports whether the agent's field manager owns an annotation. The agent becomes the owner when it applies
// the annotation. If another client then changes the annotation, this client becomes the owner. isOwned searches
// the encoded fields for the name of the annotation. In FieldsV1 (k8s.io/apimachinery), the name of each field is a
// JSON key with the prefix "f:". The characters of an annotation's name need no escaping in JSON.
func isOwned(fields []metav1.ManagedFieldsEntry, annotation string) bool {
	for _, entry := range fields {
		if entry.Manager == Manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.FieldsV1 != nil &&
			bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:`+annotation+`"`)) {
			return true
		}
	}
	return false
}
