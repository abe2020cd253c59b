package manifests

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The settings in the manifests must be settings of the agent. The roles must permit exactly the agent's requests to
// the API server.
func TestManifestsMatchAgent(t *testing.T) {
	agent := filepath.Join(t.TempDir(), "podlapse-agent")
	// The flags are the flags of make build, so that go build can use the same cache.
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", agent, "./cmd/agent")
	build.Dir = filepath.Dir(directory(t))
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the agent: %v\n%s", err, out)
	}
	t.Run("settings", func(t *testing.T) {
		known := map[string][]string{"run": variablesOf(t, agent, "run"),
			"runtime-proxy": variablesOf(t, agent, "runtime-proxy")}
		commands := map[string]string{"agent": "run", "runtime-proxy": "runtime-proxy"}
		for component := range componentValues() {
			for _, c := range find[*appsv1.DaemonSet](t, compose(t, component), "").Spec.Template.Spec.Containers {
				command := commands[c.Name]
				if !slices.Equal(c.Args, []string{command}) {
					t.Errorf("%s: arguments %q: flags would override the variables", component, c.Args)
				}
				for _, variable := range c.Env {
					if !slices.Contains(known[command], variable.Name) {
						t.Errorf("%s: podlapse-agent %s has no variable %s", component, command, variable.Name)
					}
				}
			}
		}
	})
	t.Run("access", func(t *testing.T) {
		compareAccess(t, requestedAccess(t, agent), compose(t))
	})
	t.Run("access as the node", func(t *testing.T) {
		compareAccess(t, requestedAccess(t, agent, "--impersonate-node=on"), compose(t, "node-impersonation"))
	})
	t.Run("access to annotate", func(t *testing.T) {
		compareAccess(t, requestedAccess(t, agent, "--annotate=on"), compose(t, "annotate"))
	})
	t.Run("access to its node", func(t *testing.T) {
		compareAccess(t, requestedAccess(t, agent, "--node-health"), compose(t, "node-health"))
		compareAccess(t, requestedAccess(t, agent, "--node-health", "--impersonate-node=on"),
			compose(t, "node-health", "node-impersonation"))
	})
	t.Run("probes", func(t *testing.T) {
		config := find[*corev1.ConfigMap](t, compose(t, "probes"), "podlapse-probes")
		path := filepath.Join(t.TempDir(), "probes.yaml")
		if err := os.WriteFile(path, []byte(config.Data["probes.yaml"]), 0o600); err != nil {
			t.Fatal(err)
		}
		// The agent reports all problems with its settings before it starts. In this test, only the node's name is
		// invalid.
		out, _ := exec.Command(agent, "run", "--node-name=No_Name", "--probes-file="+path).CombinedOutput()
		if text := string(out); !strings.Contains(text, "No_Name") || strings.Contains(text, "probes-file") {
			t.Errorf("the agent rejects the probes:\n%s", text)
		}
	})
	t.Run("TLS", func(t *testing.T) { testTLS(t, agent) })
}

// variablesOf returns the environment variables that a command of the agent reads.
func variablesOf(t *testing.T, agent, command string) []string {
	t.Helper()
	help, err := exec.Command(agent, command, "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	var variables []string
	for _, match := range regexp.MustCompile(`\(env ([A-Z_]+)`).FindAllStringSubmatch(string(help), -1) {
		variables = append(variables, match[1])
	}
	if len(variables) == 0 {
		t.Fatalf("no variables in:\n%s", help)
	}
	return variables
}

// compareAccess requires that the agent's roles permit exactly the given requests.
func compareAccess(t *testing.T, requested []string, objects []object) {
	t.Helper()
	var allowed []string
	for _, rule := range agentRules(objects) {
		if len(rule.ResourceNames)+len(rule.NonResourceURLs) > 0 {
			t.Errorf("this test does not support the rule %+v", rule)
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					allowed = append(allowed, strings.TrimSpace(verb+" "+resource+" "+group))
				}
			}
		}
	}
	slices.Sort(allowed)
	if !slices.Equal(requested, allowed) {
		t.Errorf("the agent requests  %q\nits role allows     %q", requested, allowed)
	}
}

// agentRules returns the rules of all ClusterRoles that are bound to the agent.
func agentRules(objects []object) (rules []rbacv1.PolicyRule) {
	bound := map[string]bool{}
	for _, o := range objects {
		if binding, ok := o.(*rbacv1.ClusterRoleBinding); ok && binding.Subjects[0].Name == "podlapse-agent" {
			bound[binding.RoleRef.Name] = true
		}
	}
	for _, o := range objects {
		if role, ok := o.(*rbacv1.ClusterRole); ok && bound[role.Name] {
			rules = append(rules, role.Rules...)
		}
	}
	return rules
}

// requestedAccess returns the permissions that the agent's requests need, as "VERB RESOURCE" or "VERB RESOURCE GROUP".
// For this purpose, requestedAccess runs the agent against a fake API server with one waiting pod, whose annotation
// requests a timestamp. requestedAccess waits until the agent watches pods and Events. If the flags enable annotations,
// requestedAccess also waits for the annotation. With --node-health, it also waits for the watch of the node.
func requestedAccess(t *testing.T, agent string, flags ...string) []string {
	t.Helper()
	const node = "node-1"
	var mu sync.Mutex
	rights := map[string]bool{}
	done := make(chan struct{}, 64) // one value for each watch and each patch; an agent sends few
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		verb, resource := verbAndResource(r)
		mu.Lock()
		switch user := r.Header.Get(authenticationv1.ImpersonateUserHeader); user {
		case "":
			rights[verb+" "+resource] = true
		case "system:node:" + node: // constrained impersonation (KEP-5284)
			rights["impersonate-on:associated-node:"+verb+" "+resource] = true
			rights["impersonate:associated-node nodes authentication.k8s.io"] = true
		default:
			rights["impersonate "+user] = true
		}
		mu.Unlock()
		switch {
		case verb == "patch":
			done <- struct{}{}
			w.WriteHeader(http.StatusOK)
		case r.Method != http.MethodGet || !strings.HasPrefix(r.URL.Path, "/api/v1/"):
			t.Errorf("unexpected request %s %s", r.Method, r.URL)
			http.NotFound(w, r)
		case r.URL.Query().Get("sendInitialEvents") != "": // respond like an API server without streaming lists
			http.Error(w, "unknown parameter", http.StatusUnprocessableEntity)
		case verb == "watch":
			w.Header().Set("Content-Type", "application/json")
			w.(http.Flusher).Flush()
			select {
			case done <- struct{}{}:
			default:
			}
			<-r.Context().Done()
		default:
			w.Header().Set("Content-Type", "application/json")
			if resource == "nodes" {
				_ = json.NewEncoder(w).Encode(corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1",
					Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
				return
			}
			_ = json.NewEncoder(w).Encode(waitingPod(node))
		}
	}))
	defer server.Close()

	kubeconfig := kubeconfigOf(t, server.URL)
	run := exec.CommandContext(t.Context(), agent,
		append([]string{"run", "--node-name=" + node, "--kubeconfig=" + kubeconfig,
			"--cri-endpoint=off", "--listen-address=127.0.0.1:0", "--records=none"}, flags...)...)
	var log strings.Builder
	run.Stderr = &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	awaited := 2 // the watch of pods, and the watch of the pod's Events
	if slices.Contains(flags, "--node-health") || slices.Contains(flags, "--annotate=on") {
		awaited++
	}
	for range awaited {
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Error("the agent did not send all expected requests within a minute")
		}
	}
	_ = run.Process.Signal(os.Interrupt)
	if err := run.Wait(); err != nil {
		t.Errorf("the agent: %v\n%s", err, &log)
	}
	mu.Lock()
	defer mu.Unlock()
	return slices.Sorted(maps.Keys(rights))
}

// verbAndResource returns the verb and the resource of a request to the API server.
func verbAndResource(r *http.Request) (verb, resource string) {
	resource = path.Base(r.URL.Path)
	switch {
	case r.URL.Query().Get("watch") != "":
		return "watch", resource
	case r.Method == http.MethodPatch: // the last element of the path is the object's name
		return "patch", path.Base(path.Dir(r.URL.Path))
	}
	return "list", resource
}

// kubeconfigOf writes a kubeconfig for a server without authentication, and returns the path of the file.
func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, "+
		"contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u}], "+
		"clusters: [{name: c, cluster: {server: %q}}]}", server)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// waitingPod returns a list with one pod that has no sandbox yet. The pod has the annotation "addtime".
func waitingPod(node string) corev1.PodList {
	now := metav1.Now()
	return corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "1"},
		Items: []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: "u", ResourceVersion: "1",
				CreationTimestamp: now,
				Annotations:       map[string]string{"addtime": ""}},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			Status: corev1.PodStatus{Phase: corev1.PodPending, StartTime: &now, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now},
			}},
		}},
	}
}
