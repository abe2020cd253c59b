package podwatchtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/version"
)

// serve handles every request, for example GET /api/v1/[namespaces/NS/]RESOURCE. The responses are in JSON, because
// every client can read JSON.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	values := r.URL.Query()
	watching := values.Get("watch") == "true" || values.Get("watch") == "1"
	verb := "list"
	switch {
	case watching:
		verb = "watch"
	case r.Method == http.MethodPost:
		verb = "create"
	case r.Method == http.MethodPatch:
		verb = "patch"
	}
	line := fmt.Sprintf("%s %s %s", verb, r.URL.Path, values.Get("fieldSelector"))
	if user := r.Header.Get("Impersonate-User"); user != "" {
		line += " as " + user
	}
	s.mu.Lock()
	refusal, hang, noStream, slowList := s.refusal, s.hang, s.noStream, s.slowList
	s.requests = append(s.requests, line)
	if s.ahead != 0 {
		w.Header().Set("Date", time.Now().Add(s.ahead).UTC().Format(http.TimeFormat))
	}
	s.mu.Unlock()

	selector, err := fields.ParseSelector(values.Get("fieldSelector"))
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/")
	q := query{resource: parts[len(parts)-1], selector: selector}
	if len(parts) == 3 {
		q.namespace = parts[1]
	}
	if verb == "patch" && len(parts) == 4 {
		q.resource = parts[2]
	}
	refused := ""
	discovered := strings.HasPrefix(r.URL.Path, "/apis/")
	if verb != "create" && r.URL.Path != "/version" && !discovered {
		refused = s.refusedTo(r, Attempt{Verb: verb, Resource: q.resource, Namespace: q.namespace,
			Selector: values.Get("fieldSelector")})
	}
	switch {
	case hang, verb == "list" && q.namespace != "" && q.namespace == slowList:
		<-r.Context().Done()
	case refusal != nil:
		writeStatus(w, *refusal)
	case verb == "create":
		s.review(w, r)
	case r.URL.Path == "/version":
		writeJSON(w, http.StatusOK, version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"})
	case discovered && verb == "list":
		s.servePolicies(w)
	case refused != "":
		writeStatus(w, failure(http.StatusForbidden, metav1.StatusReasonForbidden, refused))
	case verb == "patch":
		s.apply(w, r)
	case err != nil:
		writeStatus(w, failure(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error()))
	case !watching:
		s.respondList(w, q, values.Get("limit"), values.Get("continue"))
	case values.Has("sendInitialEvents") && noStream:
		writeStatus(w, failure(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			"sendInitialEvents is forbidden"))
	default:
		s.watch(w, r, q, values.Get("resourceVersion"), values.Get("sendInitialEvents") == "true")
	}
}

// respondList responds to a list request. If the request has a limit, respondList returns one page. The continue token
// is an offset in the list of the current objects. Therefore, a later page can contain changes that happened after the
// first page. On a real API server, all pages show the objects at the time of the first page.
func (s *Server) respondList(w http.ResponseWriter, q query, limit, from string) {
	s.mu.Lock()
	items := s.selectObjects(q)
	next := ""
	if most, err := strconv.Atoi(limit); err == nil && most > 0 {
		skipped, _ := strconv.Atoi(from)
		items = items[min(skipped, len(items)):]
		if len(items) > most {
			items, next = items[:most], strconv.Itoa(skipped+most)
		}
	}
	kind := map[string]string{"pods": "PodList", "events": "EventList", "nodes": "NodeList",
		"secrets": "SecretList"}[q.resource]
	metadata := map[string]any{"resourceVersion": strconv.Itoa(s.version), "continue": next}
	if next != "" && q.selector.Empty() {
		skipped, _ := strconv.Atoi(next)
		metadata["remainingItemCount"] = len(s.selectObjects(q)) - skipped
	}
	response := map[string]any{"apiVersion": "v1", "kind": kind, "items": items, "metadata": metadata}
	if items == nil {
		response["items"] = []object{}
	}
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, response)
}

// watch responds to a watch request. In three cases, watch first sends the existing objects: the request has no
// resource version, has the resource version 0, or asks for the initial events. Then watch sends every change.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, q query, from string, initialEvents bool) {
	s.mu.Lock()
	var initial []object
	version := s.version
	if from == "" || from == "0" || initialEvents {
		initial = s.selectObjects(q)
	} else {
		version, _ = strconv.Atoi(from)
	}
	oldest, broken, expire := s.oldest, s.broken, s.expire
	s.watches++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.watches--
		s.mu.Unlock()
	}()

	w.Header().Set("Content-Type", "application/json")
	flusher := w.(http.Flusher)
	flusher.Flush()
	send := func(kind string, object any) {
		_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": object})
		flusher.Flush()
	}
	if expire != nil {
		select {
		case <-time.After(*expire):
		case <-r.Context().Done():
			return
		}
		oldest = version + 1
	}
	if version < oldest {
		send("ERROR", failure(http.StatusGone, metav1.StatusReasonExpired, "too old resource version"))
		return
	}
	for _, o := range initial {
		select {
		case <-time.After(s.waitBeforeObject()):
		case <-broken:
			return
		case <-r.Context().Done():
			return
		}
		send("ADDED", withKind(o))
	}
	if initialEvents {
		send("BOOKMARK", bookmark(q.resource, version))
	}
	for {
		news, changed, lost, expired := s.newsAfter(&version, q)
		if expired { // the method Forget dropped changes that this watch has not sent
			send("ERROR", failure(http.StatusGone, metav1.StatusReasonExpired, "too old resource version"))
			return
		}
		for _, c := range news {
			if lost != nil && lost(c.kind, c.object) {
				continue
			}
			send(c.kind, withKind(c.object))
		}
		select {
		case <-changed:
		case <-broken:
			s.mu.Lock()
			finalStatus := s.finalStatus
			s.mu.Unlock()
			if finalStatus != nil {
				send("ERROR", *finalStatus)
			}
			return
		case <-r.Context().Done():
			return
		}
	}
}

// newsAfter returns the changes after the given version that match the query. The channel "changed" is closed at the
// next change. The function "lost" is the function that the method Lose has set. The result "expired" is true if the
// server has dropped changes after the given version. newsAfter sets *version to the version of the latest change.
func (s *Server) newsAfter(version *int, q query) (news []change, changed <-chan struct{},
	lost func(string, metav1.Object) bool, expired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.history {
		if c.version > *version && q.matches(c.object) {
			news = append(news, c)
		}
	}
	expired = *version < s.oldest
	*version = s.version
	return news, s.changed, s.lost, expired
}

// withKind returns a copy of an object with the fields apiVersion and kind, because clients expect these fields in
// responses.
func withKind(o object) object {
	o = o.DeepCopyObject().(object)
	switch o := o.(type) {
	case *corev1.Pod:
		o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	case *corev1.Event:
		o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}
	case *corev1.Node:
		o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
	}
	return o
}

func bookmark(resource string, version int) object {
	meta := metav1.ObjectMeta{
		ResourceVersion: strconv.Itoa(version),
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}
	if resource == "events" {
		return withKind(&corev1.Event{ObjectMeta: meta})
	}
	return withKind(&corev1.Pod{ObjectMeta: meta})
}

func failure(code int32, reason metav1.StatusReason, message string) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}
}

func writeStatus(w http.ResponseWriter, status metav1.Status) { writeJSON(w, int(status.Code), status) }

func writeJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}
