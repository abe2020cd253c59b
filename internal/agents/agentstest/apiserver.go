// Package agentstest contains a small fake API server. A test sets the pods that the fake server knows. Like the proxy
// of a real API server, the fake server forwards requests to agents.
package agentstest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// APIServer is a fake API server that serves until the test ends.
type APIServer struct {
	URL string

	mu        sync.Mutex
	pods      []Pod
	refuse    func(r *http.Request) int // returns a status to refuse the request, or 0 to accept the request
	hang      func(r *http.Request) bool
	requested []string
	apps      map[string]any // objects of the API group "apps"; see SetApps for the keys
}

// Pod is a pod that the fake API server knows.
type Pod struct {
	Namespace, Name, Node string
	// Agent is the address of the agent in the pod. If Agent is empty, no connection reaches the agent. If Port is 0,
	// the pod is not an agent.
	Agent string
	// Handler, if set, responds to the requests that clients send through the API server's proxy. Without Handler, the
	// proxy forwards the requests to the address in the field Agent. Port-forwards never use Handler.
	Handler http.Handler
	Port    int
	HTTPS   bool
	Ready   bool
	Leaving bool
}

// Start starts a fake API server that knows the pods.
func Start(t testing.TB, pods ...Pod) *APIServer {
	t.Helper()
	s := &APIServer{pods: pods}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Set replaces the pods that the server knows.
func (s *APIServer) Set(pods ...Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods = pods
}

// Replace updates one pod of the server. The new pod replaces the known pod with the same namespace and name.
func (s *APIServer) Replace(pod Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods = slices.Clone(s.pods)
	for i := range s.pods {
		if s.pods[i].Namespace == pod.Namespace && s.pods[i].Name == pod.Name {
			s.pods[i] = pod
		}
	}
}

// SetApps replaces the server's objects of the API group "apps". Each key has the form NAMESPACE/RESOURCE/NAME.
func (s *APIServer) SetApps(objects map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps = objects
}

// Refuse sets the function "policy", which decides for each request whether the server refuses it. If "policy" returns
// a status other than 0, the server refuses the request with this status.
func (s *APIServer) Refuse(policy func(r *http.Request) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = policy
}

// Hang sets the function "policy", which selects the requests that get no response. If "policy" returns true, the
// server sends no response and waits until the client cancels the request. A real API server also sends no response if
// its network cannot reach the pods.
func (s *APIServer) Hang(policy func(r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hang = policy
}

// Asked returns the paths of all requests so far.
func (s *APIServer) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requested)
}

func (s *APIServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	pods, refuse, hang, apps := slices.Clone(s.pods), s.refuse, s.hang, s.apps
	s.requested = append(s.requested, r.URL.RequestURI())
	s.mu.Unlock()
	if refuse != nil {
		if code := refuse(r); code != 0 {
			message := fmt.Sprintf("User \"jane\" cannot %s %s", strings.ToLower(r.Method), r.URL.Path)
			// The message is long, because authorization webhooks can send long messages.
			status(w, code, message+strings.Repeat(", says the authorizer", 100))
			return
		}
	}
	if hang != nil && hang(r) {
		<-r.Context().Done()
		return
	}
	if object, ok := apps[strings.TrimPrefix(r.URL.Path, "/apis/apps/v1/namespaces/")]; ok {
		response(w, object)
		return
	}
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/")
	switch {
	case len(path) == 1 && path[0] == "namespaces":
		s.list(w, r, pods, func(p Pod) string { return p.Namespace })
	case len(path) == 3 && path[2] == "pods":
		s.list(w, r, slices.DeleteFunc(pods, func(p Pod) bool { return p.Namespace != path[1] }), nil)
	case len(path) == 4 && path[2] == "pods":
		s.get(w, pods, path[1], path[3])
	case len(path) > 5 && path[2] == "pods" && path[4] == "proxy":
		proxy(w, r, pods, path)
	case len(path) == 5 && path[2] == "pods" && path[4] == "portforward":
		forward(w, r, pods, path[1], path[3])
	default:
		status(w, http.StatusNotFound, "the server could not find the requested resource")
	}
}

func (s *APIServer) list(w http.ResponseWriter, r *http.Request, pods []Pod, name func(Pod) string) {
	items := []any{}
	known := map[string]bool{}
	for _, p := range pods {
		node, chosen := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "spec.nodeName=")
		if chosen && node != p.Node || r.URL.Query().Get("labelSelector") != "" && p.Port == 0 {
			continue
		}
		if name != nil && known[name(p)] {
			continue
		}
		if name != nil {
			known[name(p)] = true
			items = append(items, map[string]any{"metadata": map[string]any{"name": name(p)}})
			continue
		}
		items = append(items, object(p))
	}
	response(w, map[string]any{"kind": "List", "metadata": map[string]any{}, "items": items})
}

func (s *APIServer) get(w http.ResponseWriter, pods []Pod, namespace, name string) {
	for _, p := range pods {
		if p.Namespace == namespace && p.Name == name {
			response(w, object(p))
			return
		}
	}
	status(w, http.StatusNotFound, fmt.Sprintf("pods %q not found", name))
}

func object(p Pod) map[string]any {
	metadata := map[string]any{"namespace": p.Namespace, "name": p.Name}
	if p.Leaving {
		metadata["deletionTimestamp"] = "2026-03-01T12:00:00Z"
	}
	container := map[string]any{"name": "agent"}
	if p.Port != 0 {
		container["ports"] = []any{map[string]any{"name": "metrics", "containerPort": p.Port}}
	}
	if p.HTTPS {
		container["readinessProbe"] = map[string]any{"httpGet": map[string]any{"scheme": "HTTPS"}}
	}
	ready := map[bool]string{true: "True", false: "False"}[p.Ready]
	return map[string]any{
		"kind": "Pod", "metadata": metadata,
		"spec": map[string]any{"nodeName": p.Node, "containers": []any{container}},
		"status": map[string]any{"phase": "Running",
			"conditions": []any{map[string]any{"type": "Ready", "status": ready}}},
	}
}

// proxy forwards a request to an agent. Like the proxy of a real API server, proxy removes the user's credentials from
// the request.
func proxy(w http.ResponseWriter, r *http.Request, pods []Pod, path []string) {
	for _, p := range pods {
		target := fmt.Sprintf("%s:%d", p.Name, p.Port)
		if p.HTTPS {
			target = "https:" + target
		}
		if p.Namespace != path[1] || path[3] != target {
			continue
		}
		if p.Handler != nil {
			passed := r.Clone(r.Context())
			passed.URL.Path = "/" + strings.Join(path[5:], "/")
			passed.Header.Del("Authorization")
			p.Handler.ServeHTTP(w, passed)
			return
		}
		if p.Agent == "" {
			status(w, http.StatusServiceUnavailable, "error trying to reach service: dial tcp: connection refused")
			return
		}
		server, err := url.Parse(p.Agent)
		if err != nil {
			status(w, http.StatusInternalServerError, err.Error())
			return
		}
		handOn := httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(server)
			pr.SetXForwarded()
			pr.Out.URL.Path = "/" + strings.Join(path[5:], "/")
			pr.Out.Header.Del("Authorization")
		}}
		handOn.ServeHTTP(w, r)
		return
	}
	status(w, http.StatusNotFound, fmt.Sprintf("pods %q not found", path[3]))
}

func status(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure",
		"code": code, "message": message,
		"reason": strings.ReplaceAll(http.StatusText(code), " ", "")})
}

func response(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object)
}
