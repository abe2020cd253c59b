package podwatchtest

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Agent is the user of every request that does not impersonate another user.
const Agent = "system:serviceaccount:podlapse:podlapse-agent"

// Attempt is a request that the server must authorize.
type Attempt struct {
	User            string // Agent, the impersonated user, or the user in a SubjectAccessReview
	Verb            string
	Group, Resource string
	Namespace       string // namespace of the request; only for reads of pods and Events
	Path            string // path of the request, if the request is not for a resource
	Selector        string // field selector of the request
}

// Authorize sets the policy that decides about all later requests. Without a policy, the server allows all requests.
func (s *Server) Authorize(allow func(Attempt) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allow = allow
}

// KnowToken makes TokenReview accept a token as the token of a user. An empty user makes the token unknown again.
func (s *Server) KnowToken(token, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens == nil {
		s.tokens = map[string]string{}
	}
	s.tokens[token] = user
}

// Ahead sets the time by which the server's clock is ahead of the test's clock.
func (s *Server) Ahead(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead = by
}

func (s *Server) allowed(a Attempt) bool {
	s.mu.Lock()
	allow := s.allow
	s.mu.Unlock()
	return allow == nil || allow(a)
}

// refusedTo returns the reason why a request is forbidden, or an empty text if it is allowed. If the request
// impersonates a node, refusedTo applies the API server's rules for constrained impersonation (mode "associated-node").
func (s *Server) refusedTo(r *http.Request, a Attempt) string {
	a.User = Agent
	attempts := []Attempt{a}
	if node := r.Header.Get("Impersonate-User"); node != "" {
		asNode := a
		asNode.User = node
		on := a
		on.Verb, on.Selector = "impersonate-on:associated-node:"+a.Verb, ""
		attempts = []Attempt{
			{User: Agent, Verb: "impersonate:associated-node", Group: "authentication.k8s.io", Resource: "nodes"},
			on, asNode,
		}
	}
	for _, a := range attempts {
		if !s.allowed(a) {
			return a.Resource + " is forbidden: User \"" + a.User + "\" cannot " + a.Verb + " resource \"" +
				a.Resource + "\""
		}
	}
	return ""
}

// review responds to TokenReview, SubjectAccessReview and SelfSubjectAccessReview requests.
func (s *Server) review(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		response(s, w, r, func(review *authenticationv1.TokenReview) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if user := s.tokens[review.Spec.Token]; user != "" {
				review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: identity(user)}
			}
		})
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		response(s, w, r, func(review *authorizationv1.SubjectAccessReview) {
			a := review.Spec.NonResourceAttributes
			review.Status.Allowed = a != nil && isWholeReview(review.Spec) &&
				(allowedByDiscovery(a.Path) || s.allowed(Attempt{User: review.Spec.User, Verb: a.Verb, Path: a.Path}))
		})
	case "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
		response(s, w, r, func(review *authorizationv1.SelfSubjectAccessReview) {
			a := review.Spec.ResourceAttributes
			review.Status.Allowed = a != nil &&
				s.allowed(Attempt{User: Agent, Verb: a.Verb, Group: a.Group, Resource: a.Resource})
		})
	default:
		writeStatus(w, failure(http.StatusNotFound, metav1.StatusReasonNotFound, "no such resource"))
	}
}

// identity returns all fields that TokenReview returns for a user. RBAC uses only the user's name and groups.
// Authorization webhooks can also use the UID and the extra fields.
func identity(user string) authenticationv1.UserInfo {
	return authenticationv1.UserInfo{
		Username: user, UID: "uid of " + user, Groups: []string{"system:authenticated", "group of " + user},
		Extra: map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {"node of " + user}},
	}
}

// isWholeReview reports whether a SubjectAccessReview contains all fields of the user that TokenReview returned, and no
// other fields of a user.
func isWholeReview(spec authorizationv1.SubjectAccessReviewSpec) bool {
	extra := map[string]authenticationv1.ExtraValue{}
	for key, values := range spec.Extra {
		extra[key] = authenticationv1.ExtraValue(values)
	}
	requested := authenticationv1.UserInfo{Username: spec.User, UID: spec.UID, Groups: spec.Groups, Extra: extra}
	return reflect.DeepEqual(requested, identity(spec.User))
}

// allowedByDiscovery reports whether the ClusterRole system:discovery allows every account to send GET requests for a
// path. The ClusterRole system:discovery exists in every cluster.
func allowedByDiscovery(path string) bool {
	for _, prefix := range []string{"/api", "/apis", "/openapi"} {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return true
		}
	}
	return slices.Contains([]string{"/healthz", "/livez", "/readyz", "/version", "/version/"}, path)
}

func response[R any](s *Server, w http.ResponseWriter, r *http.Request, decide func(*R)) {
	review := new(R)
	if err := json.NewDecoder(r.Body).Decode(review); err != nil {
		writeStatus(w, failure(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error()))
		return
	}
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if !s.allowed(Attempt{User: Agent, Verb: "create", Group: strings.Split(r.URL.Path, "/")[2], Resource: resource}) {
		writeStatus(w, failure(http.StatusForbidden, metav1.StatusReasonForbidden, resource+" is forbidden"))
		return
	}
	decide(review)
	writeJSON(w, http.StatusCreated, review)
}
