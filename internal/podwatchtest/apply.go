package podwatchtest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Applied is a server-side apply that the server has performed.
type Applied struct {
	Namespace, Name, Manager string
	Annotations              map[string]string // annotations that the field manager owns after the apply
}

// Applies returns the apply requests that the server has performed, in order.
func (s *Server) Applies() []Applied {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Applied(nil), s.applies...)
}

// BeforeApply sets a function that the server calls before each apply. For example, the function can change the
// server's objects to simulate another client. A nil function removes the previous function.
func (s *Server) BeforeApply(interfere func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interfere = interfere
}

// ResponseApplies makes every apply request fail. The server responds with the given status and does not change the
// pod. Code 0 ends this fault.
func (s *Server) ResponseApplies(code int32, reason metav1.StatusReason, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noApply = nil
	if code != 0 {
		status := failure(code, reason, message)
		s.noApply = &status
	}
}

// WithoutPolicies removes the ValidatingAdmissionPolicy that limits the agents' annotations. WithoutPolicies also
// removes the API for ValidatingAdmissionPolicies, as in Kubernetes 1.29.
func (s *Server) WithoutPolicies() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noPolicy = true
}

// servePolicies responds to a discovery request for the kinds in the API group "admissionregistration.k8s.io". Every
// account can send this request.
func (s *Server) servePolicies(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noPolicy {
		writeStatus(w, failure(http.StatusNotFound, metav1.StatusReasonNotFound,
			"the server could not find the requested resource"))
		return
	}
	writeJSON(w, http.StatusOK, metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: "admissionregistration.k8s.io/v1",
		APIResources: []metav1.APIResource{{Name: "validatingadmissionpolicies"},
			{Name: "validatingadmissionpolicybindings"}},
	})
}

// isRefusedByPolicy reports whether the ValidatingAdmissionPolicy refuses the annotations.
func (s *Server) isRefusedByPolicy(annotations map[string]string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range annotations {
		if name != "podlapse.dev/startup" && name != "timestamp" {
			return !s.noPolicy
		}
	}
	return false
}

// Pod returns the server's copy of a pod. Pod returns nil if the pod does not exist.
func (s *Server) Pod(namespace, name string) *corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	pod, ok := s.objects["pods/"+namespace+"/"+name].(*corev1.Pod)
	if !ok {
		return nil
	}
	return pod.DeepCopy()
}

// apply responds to PATCH /api/v1/namespaces/NS/pods/NAME like the API server, but supports only annotations. The
// request can contain the pod's UID and resource version. If the UID or the resource version differs from the server's
// pod, apply responds with a conflict. apply removes annotations that the field manager no longer sends.
func (s *Server) apply(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	interfere, response := s.interfere, s.noApply
	s.mu.Unlock()
	if interfere != nil {
		interfere()
	}
	if response != nil {
		writeStatus(w, *response)
		return
	}
	var wanted struct{ Metadata metav1.ObjectMeta }
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &wanted)
	}
	if err != nil || r.Header.Get("Content-Type") != "application/apply-patch+yaml" {
		writeStatus(w, failure(http.StatusBadRequest, metav1.StatusReasonBadRequest, "the request is not an apply "+
			"patch"))
		return
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/")
	pod := s.Pod(parts[0], parts[2])
	meta := wanted.Metadata
	switch {
	case pod == nil && meta.UID != "":
		writeStatus(w, failure(http.StatusConflict, metav1.StatusReasonConflict,
			"uid mismatch: no existing object was found"))
	case pod == nil:
		writeStatus(w, failure(http.StatusForbidden, metav1.StatusReasonForbidden, "cannot create pods"))
	case meta.UID != "" && meta.UID != pod.UID, meta.ResourceVersion != "" &&
		meta.ResourceVersion != pod.ResourceVersion:
		writeStatus(w, failure(http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified"))
	case s.isRefusedByPolicy(meta.Annotations):
		writeStatus(w, failure(http.StatusForbidden, metav1.StatusReasonForbidden,
			"pods is forbidden: ValidatingAdmissionPolicy 'podlapse-agent-annotate' with binding "+
				"'podlapse-agent-annotate' denied request"))
	case r.URL.Query().Get("dryRun") == metav1.DryRunAll:
		writeJSON(w, http.StatusOK, withKind(pod))
	default:
		manager := r.URL.Query().Get("fieldManager")
		setAnnotations(pod, manager, meta.Annotations)
		s.Put(pod)
		s.mu.Lock()
		s.applies = append(s.applies, Applied{parts[0], parts[2], manager, meta.Annotations})
		s.mu.Unlock()
		writeJSON(w, http.StatusOK, withKind(s.Pod(parts[0], parts[2])))
	}
}

// setAnnotations sets a field manager's annotations on a pod. setAnnotations removes annotations that the field manager
// no longer sends.
func setAnnotations(pod *corev1.Pod, manager string, annotations map[string]string) {
	entry := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply}
	others := pod.ManagedFields[:0]
	for _, fields := range pod.ManagedFields {
		if fields.Manager != manager || fields.Operation != entry.Operation {
			others = append(others, fields)
			continue
		}
		var before struct {
			Metadata struct {
				Annotations map[string]any `json:"f:annotations"`
			} `json:"f:metadata"`
		}
		_ = json.Unmarshal(fields.FieldsV1.GetRawBytes(), &before)
		for name := range before.Metadata.Annotations {
			delete(pod.Annotations, strings.TrimPrefix(name, "f:"))
		}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	fields := map[string]any{}
	for name, value := range annotations {
		pod.Annotations[name] = value
		fields["f:"+name] = struct{}{}
	}
	raw, _ := json.Marshal(map[string]any{"f:metadata": map[string]any{"f:annotations": fields}})
	entry.FieldsV1 = metav1.NewFieldsV1(string(raw))
	others = append(others, entry)
	pod.ManagedFields = others
}
