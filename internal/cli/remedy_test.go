package cli

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/pkg/client"
)

// TestErrorsNameTheRemedy expects the failure, its reason and a remedy in each error.
func TestErrorsNameTheRemedy(t *testing.T) {
	all := clusterOf(t, shop()).URL
	agent := httptest.NewServer(shop()[0])
	defer agent.Close()
	one := agentstest.Start(t, agentOn("worker-1", agent.URL), agentstest.Pod{Namespace: "shop", Name: "new"},
		agentstest.Pod{Namespace: "shop", Name: "unseen", Node: "worker-1"}).URL
	closed := agentstest.ClosedAddress(t)
	secure := httptest.NewTLSServer(nil)
	defer secure.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the log contains handshakes that the clients refused
	for name, test := range map[string]struct {
		api       string // address of the API server
		args      string
		code      int
		why, cure string
	}{
		"a wrong name, one agent": {one, "explain cart -n shop", ExitNotFound,
			"not found: no agent knows the pod shop/cart (agents queried: 1)", "for example deploy/cart."},
		"a wrong name, several agents": {all, "explain cart -n shop", ExitNotFound,
			"not found: no agent knows the pod shop/cart (agents queried: 3)", "for example deploy/cart."},
		"a wrong name, an address": {all, "explain cart -n shop --server=" + agent.URL, ExitNotFound,
			`the agent responded: "no such pod`, "kubectl get pod cart -n shop -o wide. For a workload"},
		"another node": {all, "explain cart-a -n shop --node=worker-2", ExitNotFound,
			`node worker-2: the agent responded: "no such pod`, "kubectl get pod cart-a -n shop -o wide"},
		"a pod that the agent has not seen": {one, "explain unseen -n shop", ExitNotFound,
			`node worker-1: the agent responded: "no such pod`, "kubectl podlapse nodes worker-1"},
		"a pod without a node": {one, "explain new -n shop", ExitNotFound, "is not bound to a node yet",
			"kubectl describe pod new -n shop"},
		"a workload whose pods have no node": {all, "explain deploy/pending -n shop", ExitNotFound,
			"no agent knows a pod of deployment shop/pending", "kubectl get pods -n shop"},
		"an unreachable API server": {"http://" + closed, "top", ExitUnreachable, "connection refused",
			"--context or --kubeconfig"},
		"an unreachable agent": {all, "top --server=http://me:secret@" + closed, ExitUnreachable, "connection refused",
			"Check that an agent listens at http://" + closed + ". To query all agents of a cluster, remove --server"},
		"an unknown certificate": {all, "top --server=" + secure.URL, ExitUnreachable, "certificate", "Set --ca-file"},
	} {
		t.Run(name, func(t *testing.T) {
			env := environment{"KUBECONFIG": agentstest.Kubeconfig(t, test.api)}
			got := runs(t, PluginProgram, env, strings.Fields(test.args)...)
			got.must(t, test.code, "", test.why)
			got.must(t, test.code, "", test.cure)
			if strings.Contains(got.stderr, "secret") {
				t.Errorf("prints the password: %s", got.stderr)
			}
		})
	}
}

// TestDefaultServer expects that the errors of a query to the default address name the missing kubeconfig, and not the
// flag --server, which the user did not set.
func TestDefaultServer(t *testing.T) {
	const missing = "no kubeconfig found (KUBECONFIG names only missing files: /none)"
	env := environment{"KUBECONFIG": "/none"}
	access, err := target{}.open(AgentProgram, env.get)
	if err != nil {
		t.Fatal(err)
	}
	defer access.close()
	want := missing + ", and the local agent at http://127.0.0.1:9717 is unreachable: connection refused\nTo query " +
		"the agents of a cluster, set --kubeconfig or KUBECONFIG. To query one agent, set --server to its URL"
	refused := &url.Error{Op: "Get", URL: localServer, Err: errors.New("connection refused")}
	if got := access.withRemedy(refused).Error(); !strings.HasSuffix(strings.Replace(got,
		refused.Error(), "connection refused", 1), want) {
		t.Errorf("got %s, want %s", got, want)
	}
	other := errors.New("another failure")
	if got := access.withRemedy(other); !errors.Is(got, other) || strings.Contains(got.Error(), "--server") {
		t.Errorf("got %v", got)
	}
	runs(t, AgentProgram, env, "node", "worker-1").must(t, ExitUsage, "", missing+": the command queries only the "+
		"local agent at http://127.0.0.1:9717 and accepts no node name: remove the node name, or set --kubeconfig")
	runs(t, PluginProgram, env, "top").must(t, ExitUsage, "", missing+": set --kubeconfig or KUBECONFIG")
}

// TestKnownPodsArePrinted expects the start-ups of the known resources although another resource is unknown.
func TestKnownPodsArePrinted(t *testing.T) {
	server := clusterOf(t, shop())
	for _, args := range []string{"none cart-a", "cart-a none other", "cart-a deploy/none"} {
		for _, format := range []string{"table", "name", "json"} {
			words := strings.Fields("explain -n shop -o " + format + " " + args)
			got := atNoon(t, server, words...)
			if got.code != ExitNotFound || !strings.Contains(got.stdout, "cart-a") ||
				strings.Count(got.stderr, "no agent knows") != len(strings.Fields(args))-1 {
				t.Errorf("%s: exit %d\n%s%s", words, got.code, got.stdout, got.stderr)
			}
		}
	}
	server.Refuse(func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, "/pods/down") {
			return http.StatusInternalServerError
		}
		return 0
	})
	got := atNoon(t, server, strings.Fields("explain -n shop cart-a down none")...)
	if got.code != ExitUnreachable || !strings.Contains(got.stdout, "cart-a") ||
		strings.Contains(got.stderr, "no agent knows") {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

// TestUnreachableKubelet has an API server that cannot resolve the name of the agent's node. The remedy must not be a
// port-forward, because the API server also needs the kubelet for port-forwards.
func TestUnreachableKubelet(t *testing.T) {
	refused := func(reason string) error {
		return fmt.Errorf("port-forward to pod podlapse/agent-x: %w",
			&client.Refusal{Status: http.StatusInternalServerError, Kubernetes: true, Reason: reason})
	}
	proxy := &client.Refusal{Status: http.StatusForbidden, Reason: "over loopback only"}
	const unknown = "error dialing backend: dial tcp: lookup node-1: no such host"
	access := agentAccess{target: target{agentNamespace: "podlapse"}, cluster: &agents.Cluster{}}
	for name, test := range map[string]struct {
		err        error
		want, hide string
	}{
		"lists":         {&agents.Unreached{Proxy: proxy, Forward: refused(unknown)}, "set --server", "POD 9717"},
		"page":          {refused(unknown), "set --server", "is overloaded"},
		"another error": {&agents.Unreached{Proxy: proxy, Forward: refused("x")}, "POD 9717", "the kubelet"},
		"the proxy": {&agents.Unreached{Proxy: refused(unknown), Forward: errors.New("x")}, "POD 9717",
			"cannot connect to the kubelet"},
	} {
		text := access.withRemedy(test.err).Error()
		if !strings.Contains(text, test.want) || strings.Contains(text, test.hide) {
			t.Errorf("%s: want %q without %q, got %s", name, test.want, test.hide, text)
		}
	}
}

// TestErrorsShortenLongNames gives the command 400 characters that are not a name.
func TestErrorsShortenLongNames(t *testing.T) {
	server := clusterOf(t, shop())
	long := strings.Repeat("a", 200) + strings.Repeat("z", 200)
	for _, command := range []string{"explain X -n shop", "explain shop/X", "explain X/web", "explain deploy/X -n shop",
		"explain X -A", "explain a/X/c", "explain X/web -n shop", "explain svc/X", "explain X.apps/web",
		"explain node/X", "nodes X", "nodes X --node worker-1", "node pod/X", "page X", "X"} {
		got := atNoon(t, server, strings.Fields(strings.ReplaceAll(command, "X", long))...)
		if got.code == ExitOK || strings.Contains(got.stderr, strings.Repeat("a", 101)) ||
			!strings.Contains(got.stderr, "a…") && !strings.Contains(got.stderr, "…z") {
			t.Errorf("%s: exit %d, %s", command, got.code, got.stderr)
		}
	}
}

// TestErrorsSuggestType misspells the type of a resource, so that the command takes the type for a namespace or for a
// pod.
func TestErrorsSuggestType(t *testing.T) {
	server := clusterOf(t, shop())
	const want = "If deploymnt is not a namespace, did you mean deployment/web?"
	atNoon(t, server, "explain", "deploymnt/web").must(t, ExitNotFound, "", "the namespace (-n). "+want+" An agent")
	atNoon(t, server, "explain", "deploymnt/web", "--node=worker-1").must(t, ExitNotFound, "", want)
	atNoon(t, server, "explain", "deploymnt/web", "-n", "shop").must(t, ExitUsage, "", "two namespaces. "+want)
	atNoon(t, server, "explain", "web", "-n", "deploymnt").must(t, ExitNotFound, "", "For a workload, use TYPE/NAME")
	words := strings.Fields("explain deploymnt web cart -n shop")
	got := atNoon(t, server, words...)
	got.must(t, ExitNotFound, "", "pod shop/deploymnt (agents queried: 3): check the name and the namespace (-n). If "+
		"deploymnt is not a pod, did you mean deployment web cart? An agent")
	got.must(t, ExitNotFound, "", "pod shop/web (agents queried: 3): check the name and the namespace (-n). For a "+
		"workload, use TYPE/NAME")
	got = atNoon(t, server, append(words, "shop/deploymnt")...)
	if got.code != ExitNotFound || strings.Contains(got.stderr, "did you mean") {
		t.Errorf("a list of pods: exit %d, %s", got.code, got.stderr)
	}
}

// TestEmptyTextIsUnset checks that an empty text counts as unset, as in kubectl.
func TestEmptyTextIsUnset(t *testing.T) {
	server := clusterOf(t, shop())
	args := strings.Fields("explain web-0 --namespace= --selector= --node= --kubeconfig= --server= --context= --as=")
	atNoon(t, server, args...).must(t, ExitNotFound, "", "no agent knows the pod default/web-0 (agents queried: 3)")
}
