// Package audit reads the API server's audit log. The package returns the requests of an account and the permissions
// that the requests needed.
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

// podName is the key under which the API server logs the pod of a token that the kubelet issued.
const podName = "authentication.kubernetes.io/pod-name"

// event is the part of an audit event (audit.k8s.io/v1) that this package uses.
type event struct {
	AuditID          string
	Verb             string
	RequestURI       string
	User             authenticationv1.UserInfo
	ImpersonatedUser *authenticationv1.UserInfo
	// AuthenticationMetadata contains the verb that allowed the impersonation (constrained impersonation, KEP-5284).
	AuthenticationMetadata struct{ ImpersonationConstraint string }
	ObjectRef              *struct{ Resource, Subresource, APIGroup string }
	ResponseStatus         *metav1.Status
}

// A Use contains the permissions that the requests of one pod needed.
type Use struct {
	Rights  []string // "verb resource" or "verb resource group", sorted, without duplicates
	Refused []string // requests that the API server refused, without duplicates
}

// Of returns the permissions that a pod used. The result does not contain paths that are not resources,
// such as /version, because every account is allowed to read these paths.
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

// Requests counts all requests of an account, including failed requests. The keys are verb and resource, or verb and
// path for paths that are not resources.
func Requests(path, user string) (map[string]int, error) {
	seen, counts := map[string]bool{}, map[string]int{}
	err := forEach(path, func(e event) {
		// the log contains a watch twice: at its start and at its end
		if e.User.Username != user || seen[e.AuditID] {
			return
		}
		seen[e.AuditID] = true
		if e.ObjectRef != nil {
			counts[right(e.Verb, e.ObjectRef.Resource, e.ObjectRef.APIGroup)]++
			return
		}
		asked, _, _ := strings.Cut(e.RequestURI, "?")
		counts[e.Verb+" "+asked]++
	})
	return counts, err
}

// forEach calls the argument do for every event of a log.
func forEach(path string, do func(event)) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // the line is still being written
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		do(e)
	}
	return nil
}

// neededPermissions returns the permissions that the request needed.
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

// Granted returns the permissions in a role's rules, in the form that the function Of uses.
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
