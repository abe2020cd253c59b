package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/internal/state"
)

// plainRBAC reports whether the ClusterRole for plain RBAC allows a request.
func plainRBAC(a podwatchtest.Attempt) bool {
	return a.User == podwatchtest.Agent && (a.Resource == "pods" || a.Resource == "events") &&
		!strings.Contains(a.Verb, "impersonate")
}

// asNode reports whether the ClusterRole for node impersonation or the Node authorizer allows a request.
func asNode(a podwatchtest.Attempt) bool {
	if a.User == "system:node:node-a" {
		return a.Resource == "pods" && a.Selector == "spec.nodeName=node-a"
	}
	return a.Resource == "events" || a.Verb == "impersonate:associated-node" ||
		a.Resource == "pods" && strings.HasPrefix(a.Verb, "impersonate-on:")
}

// checkTests are the cases of TestCheck.
var checkTests = map[string]struct {
	prepare func(*podwatchtest.Server)
	allow   func(podwatchtest.Attempt) bool
	flags   string
	exit    int
	want    []string // texts that the output contains
}{
	"plain RBAC": {allow: plainRBAC, want: []string{
		"ok       api server     Kubernetes v1.36.3 at http://",
		"ok       pods           can list and watch the pods of node-a",
		"ok       limit          plain RBAC applies: the agent can read the pods of every node",
		"ok       events         can watch the kubelet's Events",
		"ok       secrets        cannot be read",
		"ok       clocks         the API server's clock is ",
		"ok       runtime        containerd 2.",
		"off      state          ",
		"ok       web            plain HTTP at :9717",
		"ok       web pods       readable by clients over loopback",
		"ok       web metrics    readable by every client that reaches :9717",
	}},
	"node impersonation": {allow: asNode, flags: "--impersonate-node", want: []string{
		"ok       pods ", "ok       limit          node impersonation applies", "ok       events ",
		"ok       secrets ",
	}},
	"impersonation allowed but off": {allow: asNode, exit: cli.ExitFailed, want: []string{
		"failed   pods           pods is forbidden",
		"remedy: allow the ServiceAccount to list and watch pods, or use --impersonate-node=on to limit the agent",
		"ok       limit          plain RBAC applies, and another authorizer denies",
	}},
	"impersonation on but forbidden": {allow: plainRBAC, flags: "--impersonate-node",
		exit: cli.ExitFailed, want: []string{
			"failed   pods           nodes is forbidden",
			"remedy: allow the ServiceAccount the verb impersonate:associated-node",
			"failed   limit          plain RBAC applies: the agent can read the pods of every node with its own " +
				"identity",
		}},
	"both rules": {
		allow: func(a podwatchtest.Attempt) bool { return plainRBAC(a) || asNode(a) }, flags: "--impersonate-node",
		exit: cli.ExitFailed,
		want: []string{"ok       pods ", "failed   limit          plain RBAC applies",
			"remedy: remove all verbs on pods"},
	},
	"a node can read all pods": {
		allow: func(a podwatchtest.Attempt) bool {
			return asNode(a) || a.User == "system:node:node-a" && a.Resource == "pods"
		},
		flags: "--impersonate-node", exit: cli.ExitFailed,
		want: []string{"failed   limit          with the node's identity, the agent can read pods of all nodes",
			"--authorization-mode=Node,RBAC"},
	},
	"a node can read another node's pods": {
		allow: func(a podwatchtest.Attempt) bool {
			return asNode(a) || a.User == "system:node:node-a" && a.Resource == "pods" && a.Selector != ""
		},
		flags: "--impersonate-node", exit: cli.ExitFailed,
		want: []string{"failed   limit          with the node's identity, the agent can read another node's pods"},
	},
	"a node can read secrets": {
		allow: func(a podwatchtest.Attempt) bool {
			return asNode(a) ||
				a.Resource == "secrets" &&
					(a.User != podwatchtest.Agent || strings.HasPrefix(a.Verb, "impersonate-on:"))
		},
		flags: "--impersonate-node", exit: cli.ExitFailed,
		want: []string{"failed   limit          with the node's identity, the agent can read secrets"},
	},
	"everything allowed": {allow: nil, exit: cli.ExitFailed, want: []string{
		"failed   secrets        the agent can read secrets", "remedy: give the agent its own ServiceAccount",
	}},
	"no Events": {
		allow: func(a podwatchtest.Attempt) bool { return plainRBAC(a) && a.Resource != "events" },
		exit:  cli.ExitFailed,
		want:  []string{"failed   events         RBAC does not allow the verb watch on events", "--events=off"},
	},
	"Events off": {
		allow: func(a podwatchtest.Attempt) bool { return plainRBAC(a) && a.Resource != "events" },
		flags: "--events=off",
		want:  []string{"off      events "},
	},
	"no reviews": {allow: plainRBAC, flags: "--web-auth=kubernetes", exit: cli.ExitFailed, want: []string{
		"failed   web auth       RBAC does not allow the verb create on tokenreviews", "metrics-auth",
	}},
	"reviews": {
		allow: func(a podwatchtest.Attempt) bool { return plainRBAC(a) || a.Verb == "create" },
		flags: "--web-auth=kubernetes",
		want: []string{"ok       web auth ",
			"ok       web pods       readable by clients that the API server allows",
			"ok       web metrics    readable by clients that the API server allows"},
	},
	"annotations forbidden": {
		allow: func(a podwatchtest.Attempt) bool { return plainRBAC(a) && a.Verb != "patch" }, flags: "--annotate",
		exit: cli.ExitFailed,
		want: []string{"failed   annotations    RBAC does not allow the verb patch on pods",
			"install the component annotate"},
	},
	"annotations before Kubernetes 1.30": {
		prepare: (*podwatchtest.Server).WithoutPolicies, allow: plainRBAC, flags: "--annotate", exit: cli.ExitFailed,
		want: []string{
			"failed   annotations    can patch pods, but the API server does not support ValidatingAdmissionPolicy",
			"remedy: use Kubernetes 1.30",
		},
	},
	"annotations allowed": {allow: plainRBAC, flags: "--annotate",
		want: []string{"ok       annotations    can patch pods"}},
	"an expired token": {
		prepare: func(s *podwatchtest.Server) {
			s.Refuse(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")
		},
		exit: cli.ExitFailed,
		want: []string{"failed   api server ", "remedy: the API server rejects the agent's token",
			"skipped  pods"},
	},
	"a slow clock": {
		prepare: func(s *podwatchtest.Server) { s.Ahead(-3 * time.Second) }, allow: plainRBAC, exit: cli.ExitFailed,
		want: []string{"failed   clocks         the API server's clock is -", "remedy: synchronize the clocks"},
	},
	"a fast clock": {
		prepare: func(s *podwatchtest.Server) { s.Ahead(3 * time.Second) }, allow: plainRBAC, exit: cli.ExitFailed,
		want: []string{"failed   clocks         the API server's clock is ", "remedy: synchronize the clocks"},
	},
	"a small clock difference": {
		prepare: func(s *podwatchtest.Server) { s.Ahead(400 * time.Millisecond) }, allow: plainRBAC,
		want: []string{"ok       clocks "},
	},
	"pods can be listed but not watched": {
		allow: func(a podwatchtest.Attempt) bool {
			return plainRBAC(a) &&
				(a.Resource != "pods" || a.Verb != "watch")
		}, exit: cli.ExitFailed,
		want: []string{"failed   pods           pods is forbidden", "cannot watch",
			"remedy: allow the ServiceAccount to list and watch pods"},
	},
	"no runtime": {allow: plainRBAC, flags: "--cri-endpoint=unix:///does/not/exist.sock", exit: cli.ExitFailed,
		want: []string{
			"failed   runtime        /does/not/exist.sock: ", "remedy: mount the directory",
		}},
	"the runtime off": {allow: plainRBAC, flags: "--cri-endpoint=off", want: []string{"off      runtime "}},
	"an unusable state directory": {allow: plainRBAC, flags: "--state-dir=/proc", exit: cli.ExitFailed, want: []string{
		"failed   state          /proc: ", "remedy: use a directory on a local disk",
	}},
	"a recording in a missing directory": {
		allow: plainRBAC, flags: "--record-observations=/does/not/exist", exit: cli.ExitFailed, want: []string{
			"failed   recording      /does/not/exist: create a file: ", "remedy: use a recording or a new file, in",
		},
	},
}

func TestCheck(t *testing.T) {
	for name, test := range checkTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := podwatchtest.Start(t)
			cluster.Put(web0(time.Now()))
			if test.allow != nil {
				// Every account can review its own permissions.
				cluster.Authorize(func(a podwatchtest.Attempt) bool {
					return a.Resource == "selfsubjectaccessreviews" || test.allow(a)
				})
			}
			if test.prepare != nil {
				test.prepare(cluster)
			}
			runtime := critest.Start(t, filepath.Join(t.TempDir(), "cri.sock"), critest.Options{})
			args := append([]string{"--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()),
				"--cri-endpoint", runtime.Endpoint()}, strings.Fields(test.flags)...)
			exit, text := checked(t, args...)
			if exit != test.exit {
				t.Errorf("exit %d, want %d", exit, test.exit)
			}
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			if failed, remedies := strings.Count("\n"+text, "\nfailed "),
				strings.Count(text, "remedy: "); failed != remedies {
				t.Errorf("got %d failures but %d remedies:\n%s", failed, remedies, text)
			}
			if (exit == cli.ExitFailed) != strings.Contains("\n"+text, "\nfailed ") {
				t.Errorf("exit %d of\n%s", exit, text)
			}
		})
	}
}

func checked(t *testing.T, args ...string) (exit int, text string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	exit = runAsAgent(context.Background(), append([]string{"check", "--node-name=node-a"}, args...), environment{}.get,
		&stdout, &stderr)
	if stderr.Len() > 0 {
		t.Errorf("unexpected text on standard error: %s", stderr.String())
	}
	return exit, stdout.String()
}

func TestCheckBesideRunningAgent(t *testing.T) {
	dir := t.TempDir()
	held, err := state.Open(dir, "node-a", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	_, text := checked(
		t,
		"--kubeconfig",
		agentstest.Kubeconfig(t, "http://"+agentstest.ClosedAddress(t)),
		"--cri-endpoint=off",
		"--state-dir",
		dir,
		"--record-observations",
		filepath.Join(dir, "r.jsonl"),
	)
	for _, want := range []string{
		"ok       state          " + dir + " is writable; a running agent uses it\n",
		"ok       recording      " + filepath.Join(dir, "r.jsonl") + " is writable\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestCheckReportsAccessMode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file,
		[]byte("basic_auth_users: {a: $2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi}"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string][]string{
		"": {"web pods       readable by clients over loopback",
			"web metrics    readable by every client that reaches :9717\n"},
		"--web-auth=none": {"web pods       readable by every client that reaches :9717 (--web-auth=none): the API, " +
			"the page and the stream show pods of all",
			"web metrics    readable by every client that reaches :9717\n"},
		"--web-config-file=" + file: {"web            as configured in " + file + " at :9717",
			"web pods       readable by clients with a password",
			"web metrics    readable by clients with a password\n"},
		"--web-auth=local --web-config-file=" + file: {"web pods       readable by clients over loopback",
			"web metrics    readable by clients with a password\n"},
		"--metrics-pod-labels": {"metrics contain pod names: to restrict metrics, use --web-auth=kubernetes"},
		"--metrics-workloads=5": {"metrics contain names of workloads: to restrict metrics, use " +
			"--web-auth=kubernetes"},
		"--web-auth=none --listen-address=127.0.0.1:9717": {
			"web pods       readable by clients over loopback, because 127.0.0.1:9717 is a loopback address",
		},
		"--web-auth=kubernetes --listen-address=[::1]:1": {
			"web pods       readable by clients that the API server allows",
		},
	} {
		args := []string{
			"--kubeconfig",
			agentstest.Kubeconfig(t, "http://"+agentstest.ClosedAddress(t)),
			"--cri-endpoint=off",
		}
		_, text := checked(t, append(args, strings.Fields(flags)...)...)
		for _, line := range want {
			if !strings.Contains(text, line) {
				t.Errorf("%s: no %q in\n%s", flags, line, text)
			}
		}
	}
}

func TestCheckWithoutAPIServer(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, flags := range [][]string{{"--kubeconfig", agentstest.Kubeconfig(t, "http://"+agentstest.ClosedAddress(t))},
		{"--kubeconfig="}} {
		exit, text := checked(t, append(flags, "--cri-endpoint=off")...)
		if exit != cli.ExitFailed || !strings.HasPrefix(text, "failed   api server ") ||
			!strings.Contains(text, "--kubeconfig") {
			t.Errorf("exit %d\n%s", exit, text)
		}
	}
}
