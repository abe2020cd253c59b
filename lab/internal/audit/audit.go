// Package audit reads the API server's audit log. The package counts the requests of an account, and lists the
// permissions that the requests of a pod needed.
package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podName is the key of the pod's name in an audit event. If the token of the request is bound to a pod, the API
// server writes the pod's name into the event.
const podName = "authentication.kubernetes.io/pod-name"

// event is the part of an audit event (audit.k8s.io/v1) that this package uses.
type event struct {
	AuditID          string
	Verb             string
	RequestURI       string
	User             authenticationv1.UserInfo
	ImpersonatedUser *authenticationv1.UserInfo
	// AuthenticationMetadata contains the RBAC verb that allowed a constrained impersonation (KEP-5284).
	AuthenticationMetadata struct{ ImpersonationConstraint string }
	ObjectRef              *struct{ Resource, Subresource, APIGroup string }
	ResponseStatus         *metav1.Status
}

// Use contains the permissions that one pod's successful requests needed. Use also contains the pod's refused requests.
type Use struct {
	Rights  []string // in the form "VERB RESOURCE" or "VERB RESOURCE GROUP", sorted, without duplicates
	Refused []string // requests that the API server refused, without duplicates
}

// Of returns the permissions that a pod used, according to the audit log in the given file. Every account is allowed to
// read paths that are not resources, such as /version, so the result omits requests for these paths.
func Of(path, pod string) (Use, error) {
	rights, refused := map[string]bool{}, map[string]bool{}
	err := forEach(path, func(e event) {
		if !slices.Contains(e.User.Extra[podName], pod) || e.ObjectRef == nil || e.ResponseStatus == nil {
			return
		}
		switch code := e.ResponseStatus.Code; {
		case code == 403:
			refused[e.Verb+" "+e.RequestURI] = true
		case code < 300:
			for _, right := range e.neededPermissions() {
				rights[right] = true
			}
		}
	})
	if err != nil {
		return Use{}, err
	}
	return Use{slices.Sorted(maps.Keys(rights)), slices.Sorted(maps.Keys(refused))}, nil
}

// Requests counts the requests of an account by kind, including failed requests. The keys have the form "VERB
// RESOURCE", or "VERB PATH" if the path is not a resource.
func Requests(path, user string) (map[string]int, error) {
	seen, counts := map[string]bool{}, map[string]int{}
	err := forEach(path, func(e event) {
		// The log contains each watch twice, because the API server logs both the start and the end of a watch.
		if e.User.Username != user || seen[e.AuditID] {
			return
		}
		seen[e.AuditID] = true
		if e.ObjectRef != nil {
			counts[right(e.Verb, e.ObjectRef.Resource, e.ObjectRef.APIGroup)]++
			return
		}
		path, _, _ := strings.Cut(e.RequestURI, "?")
		counts[e.Verb+" "+path]++
	})
	return counts, err
}

// forEach calls a function for every event of a log.
func forEach(path string, do func(event)) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // the API server is still writing this line
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		do(e)
	}
	return nil
}

// neededPermissions returns the permissions that are necessary for the request.
func (e event) neededPermissions() []string {
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	if e.ImpersonatedUser == nil {
		return []string{right(e.Verb, resource, e.ObjectRef.APIGroup)}
	}
	constraint := e.AuthenticationMetadata.ImpersonationConstraint
	if constraint == "" {
		return []string{right("impersonate", e.ImpersonatedUser.Username, "")}
	}
	_, mode, _ := strings.Cut(constraint, ":")
	return []string{right(constraint, "nodes", authenticationv1.GroupName),
		right("impersonate-on:"+mode+":"+e.Verb, resource, e.ObjectRef.APIGroup)}
}

func right(verb, resource, group string) string {
	return strings.TrimSpace(verb + " " + resource + " " + group)
}

// Granted returns the permissions in the rules of a role. The form of the permissions is the same as in Use.Rights.
func Granted(rules []rbacv1.PolicyRule) []string {
	rights := map[string]bool{}
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					rights[right(verb, resource, group)] = true
				}
			}
			for _, url := range rule.NonResourceURLs {
				rights[right(verb, url, "")] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(rights))
}
