// Package podwatchtest is a fake API server for pods, nodes and Events. The server supports lists, streaming lists,
// watches and field selectors over HTTP. The server keeps a history of changes, so a watch can start from an older
// resource version. The server also responds to TokenReviews and access reviews, and performs server-side applies of
// annotations. Tests add objects with the method Put. Tests can also make the server hang, close its watches, drop its
// history, or refuse requests. Every method is safe for concurrent use.
package podwatchtest

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// Server is the fake API server. Start creates a Server.
type Server struct {
	url     string
	connect *http.Transport

	mu          sync.Mutex
	version     int // version of the latest change
	oldest      int // oldest version from which a watch can start
	history     []change
	objects     map[string]object // current objects, by resource, namespace and name
	changed     chan struct{}     // channel that the server closes and replaces at every change
	broken      chan struct{}     // channel that the server closes and replaces to close all watches
	finalStatus *metav1.Status    // status that the server sends before it closes a watch; nil to send none
	watches     int
	refusal     *metav1.Status
	hang        bool
	slowList    string // namespace whose list requests get no response
	noStream    bool
	expire      *time.Duration // time until each new watch receives status 410 (ExpireEveryWatch); nil if off
	slow        time.Duration  // time that a watch waits before it sends each existing object
	requests    []string
	allow       func(Attempt) bool
	tokens      map[string]string // user of each known token, by token
	ahead       time.Duration

	lost      func(kind string, o metav1.Object) bool
	applies   []Applied
	interfere func()
	noApply   *metav1.Status
	noPolicy  bool
}

// object is an object that the server can hold: *corev1.Pod, *corev1.Node or *corev1.Event.
type object interface {
	runtime.Object
	metav1.Object
}

type change struct {
	version int
	kind    string // kind of the change: ADDED, MODIFIED or DELETED
	object  object
}

// Start serves on a loopback address until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := newServer()
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	s.url = server.URL
	t.Cleanup(func() {
		s.Heal()
		s.BreakWatches()
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

func newServer() *Server {
	return &Server{
		objects: map[string]object{}, changed: make(chan struct{}), broken: make(chan struct{}), version: 1,
		connect: &http.Transport{},
	}
}

// URL returns the address of the server.
func (s *Server) URL() string { return s.url }

// Transport returns a transport that connects to the server.
func (s *Server) Transport() *http.Transport { return s.connect }

// Put adds or replaces an object. The object must be a *corev1.Pod, a *corev1.Node or a *corev1.Event.
func (s *Server) Put(o object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "ADDED"
	if _, ok := s.objects[key(o)]; ok {
		kind = "MODIFIED"
	}
	s.record(kind, o)
	s.objects[key(o)] = s.history[len(s.history)-1].object
}

// Delete removes an object.
func (s *Server) Delete(o object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.objects[key(o)]; ok {
		delete(s.objects, key(o))
		s.record("DELETED", known)
	}
}

// record adds a change to the history. The caller must hold the lock.
func (s *Server) record(kind string, o object) {
	s.version++
	o = o.DeepCopyObject().(object)
	o.SetResourceVersion(strconv.Itoa(s.version))
	s.history = append(s.history, change{s.version, kind, o})
	close(s.changed)
	s.changed = make(chan struct{})
}

// Forget drops the history. A later watch that starts from an older version receives status 410.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = nil
	s.oldest = s.version
}

// BreakWatches closes every open watch without a final event.
func (s *Server) BreakWatches() { s.endWatches(nil) }

// ExpireWatches closes every open watch with status 410, as if the server had dropped the history.
func (s *Server) ExpireWatches() {
	status := failure(http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
	s.endWatches(&status)
}

// ExpireEveryWatch makes each new watch receive status 410 after the given time, as if the server had no history.
func (s *Server) ExpireEveryWatch(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire = &after
}

func (s *Server) endWatches(finalStatus *metav1.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finalStatus = finalStatus
	close(s.broken)
	s.broken = make(chan struct{})
}

// Refuse makes the server respond to every request with the given error status.
func (s *Server) Refuse(code int32, reason metav1.StatusReason, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := failure(code, reason, message)
	s.refusal = &status
}

// Hang makes the server accept requests without responding to them.
func (s *Server) Hang() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hang = true
}

// HangLists makes the server accept list requests for a namespace without responding to them.
func (s *Server) HangLists(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slowList = namespace
}

// Lose makes watches omit the changes for which the function returns true. A correct API server never omits changes.
// The argument "kind" is ADDED, MODIFIED or DELETED. If the function is nil, watches deliver all changes again.
func (s *Server) Lose(which func(kind string, o metav1.Object) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = which
}

// Heal ends the faults that Refuse, Hang, HangLists and ExpireEveryWatch started.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal, s.hang, s.slowList, s.expire = nil, false, "", nil
}

// NoStreamingLists disables streaming lists, as in Kubernetes 1.31.
func (s *Server) NoStreamingLists() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noStream = true
}

// SlowHistory simulates an overloaded API server. Each watch waits before it sends each existing object.
func (s *Server) SlowHistory(wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = wait
}

func (s *Server) waitBeforeObject() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slow
}

// Watches returns the number of open watches.
func (s *Server) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches
}

// Requests returns the requests so far. Each line contains the verb (`list`, `watch`, `create` or `patch`), the path
// and the field selector. If the request impersonates a user, the line also contains this user.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func key(o object) string { return resourceOf(o) + "/" + o.GetNamespace() + "/" + o.GetName() }

func resourceOf(o object) string {
	switch o.(type) {
	case *corev1.Pod:
		return "pods"
	case *corev1.Event:
		return "events"
	case *corev1.Node:
		return "nodes"
	}
	panic(fmt.Sprintf("not a pod, a node or an event: %T", o))
}

// query selects the objects of a list or a watch.
type query struct {
	resource, namespace string
	selector            fields.Selector
}

func (q query) matches(o object) bool {
	if resourceOf(o) != q.resource || q.namespace != "" && o.GetNamespace() != q.namespace {
		return false
	}
	set := fields.Set{}
	switch o := o.(type) {
	case *corev1.Pod:
		set["spec.nodeName"] = o.Spec.NodeName
	case *corev1.Event:
		set["involvedObject.uid"], set["source"] = string(o.InvolvedObject.UID), o.Source.Component
		set["involvedObject.kind"], set["involvedObject.name"] = o.InvolvedObject.Kind, o.InvolvedObject.Name
		set["reason"] = o.Reason
	case *corev1.Node:
		set["metadata.name"] = o.Name
	}
	return q.selector.Matches(set)
}

// selectObjects lists the objects that match a query. The caller must hold the lock.
func (s *Server) selectObjects(q query) []object {
	var list []object
	for _, k := range slices.Sorted(maps.Keys(s.objects)) {
		if o := s.objects[k]; q.matches(o) {
			list = append(list, o)
		}
	}
	return list
}
