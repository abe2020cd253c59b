package audit

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

const mine = `"user":{"username":"system:serviceaccount:podlapse:podlapse-agent",` +
	`"extra":{"authentication.kubernetes.io/pod-name":["agent-1"]}}`

func TestUsedPermissions(t *testing.T) {
	const asNode = `"impersonatedUser":{"username":"system:node:node-1"},` +
		`"authenticationMetadata":{"impersonationConstraint":"impersonate:associated-node"}`
	log := `{"stage":"ResponseStarted","verb":"watch",` + mine +
		`,"objectRef":{"resource":"events","namespace":"n","apiVersion":"v1"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"list",` + mine + `,` + asNode + `,"objectRef":{"resource":"pods",` +
		`"apiVersion":"v1"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"list",` + mine + `,"impersonatedUser":{"username":"somebody"},` +
		`"objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"create",` + mine + `,"objectRef":{"resource":"tokenreviews",` +
		`"apiGroup":"authentication.k8s.io"},"responseStatus":{"code":201}}
{"stage":"ResponseComplete","verb":"watch",` + mine + `,"requestURI":"/api/v1/pods?sendInitialEvents=true",` +
		`"objectRef":{"resource":"pods"},"responseStatus":{"code":422}}
{"stage":"ResponseComplete","verb":"get",` + mine + `,"requestURI":"/api/v1/secrets",` +
		`"objectRef":{"resource":"secrets"},"responseStatus":{"code":403}}
{"stage":"ResponseComplete","verb":"get",` + mine + `,"requestURI":"/version","responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"delete","user":{"extra":{"authentication.kubernetes.io/pod-name":["agent-2"]}},` +
		`"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"pat`
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	use, err := Of(path, "agent-1")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"create tokenreviews authentication.k8s.io", "impersonate somebody",
		"impersonate-on:associated-node:list pods",
		"impersonate:associated-node nodes authentication.k8s.io", "watch events"}
	if !slices.Equal(use.Rights, want) {
		t.Errorf("permissions %q, want %q", use.Rights, want)
	}
	if !slices.Equal(use.Refused, []string{"get /api/v1/secrets"}) {
		t.Errorf("refused %q", use.Refused)
	}
	if _, err := Of(path+"-none", "agent-1"); err == nil {
		t.Error("no log is no error")
	}
}

func TestRequests(t *testing.T) {
	log := `{"auditID":"1","stage":"ResponseStarted","verb":"watch",` + mine +
		`,"requestURI":"/api/v1/pods?watch=true","objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
{"auditID":"1","stage":"ResponseComplete","verb":"watch",` + mine + `,"requestURI":"/api/v1/pods?watch=true",` +
		`"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
{"auditID":"2","stage":"ResponseComplete","verb":"watch",` + mine + `,"requestURI":"/api/v1/pods?watch=true",` +
		`"objectRef":{"resource":"pods"},"responseStatus":{"code":403}}
{"auditID":"3","stage":"ResponseComplete","verb":"get",` + mine + `,"requestURI":"/version?x=1",` +
		`"responseStatus":{"code":200}}
{"auditID":"4","stage":"ResponseComplete","verb":"list","user":{"username":"somebody"},` +
		`"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
`
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Requests(path, "system:serviceaccount:podlapse:podlapse-agent")
	if want := map[string]int{"watch pods": 2, "get /version": 1}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if _, err := Requests(path+"-none", "somebody"); err == nil {
		t.Error("no log is no error")
	}
}

func TestGranted(t *testing.T) {
	got := Granted([]rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods", "events"}, Verbs: []string{"watch"}},
		{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"nodes"},
			Verbs: []string{"impersonate:associated-node"}},
		{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
	})
	want := []string{"get /metrics", "impersonate:associated-node nodes authentication.k8s.io", "watch events",
		"watch pods"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
