package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/agents/agentstest"
)

func agentOn(node, url string) agentstest.Pod {
	return agentstest.Pod{Namespace: "podlapse", Name: "agent-" + node, Node: node, Port: 9717, Ready: true, Agent: url}
}

func TestQueryRefusedByAPIServer(t *testing.T) {
	const pod = "shop/web-0"
	there := agentstest.Pod{Namespace: "shop", Name: "web-0", Node: "node-a"}
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, responseRecord)
	}))
	defer agent.Close()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":"unauthenticated","reason":"a bearer token is needed"}`)
	}))
	defer tokens.Close()
	refusing := func(code int, part string) func(*http.Request) int {
		return func(r *http.Request) int {
			if strings.Contains(r.URL.Path, part) {
				return code
			}
			return 0
		}
	}
	for name, test := range map[string]struct {
		pods   []agentstest.Pod
		refuse func(*http.Request) int
		code   int
		stderr string
	}{
		"no rule for the proxy": {[]agentstest.Pod{there, agentOn("node-a", agent.URL)},
			refusing(403, "/pods/agent-"), ExitForbidden, "pods/portforward in namespace podlapse"},
		"no rule for the agents": {[]agentstest.Pod{there, agentOn("node-a", agent.URL)},
			refusing(403, "/podlapse/pods"), ExitForbidden, "list the agents' pods: the API server responded"},
		"a wrong token": {[]agentstest.Pod{there}, refusing(401, "/"), ExitForbidden,
			"rejects the kubeconfig's credentials"},
		"an API server that is down": {[]agentstest.Pod{there}, refusing(503, "/"), ExitUnreachable, "is overloaded"},
		"no agent on the node": {[]agentstest.Pod{there, agentOn("node-b", agent.URL)}, nil, ExitUnreachable,
			`no agent found on node "node-a"`},
		"no agents": {nil, nil, ExitUnreachable, "--agent-namespace"},
		"an agent that is down": {[]agentstest.Pod{there, agentOn("node-a", "")}, nil, ExitUnreachable,
			"kubectl -n podlapse port-forward"},
		"an agent that wants tokens": {[]agentstest.Pod{there, agentOn("node-a", tokens.URL)}, nil, ExitForbidden,
			"The API server's proxy does not forward credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			server := agentstest.Start(t, test.pods...)
			server.Refuse(test.refuse)
			kubectl(t, server, "explain", pod).must(t, test.code, "", test.stderr)
		})
	}
	// A user without permission to get the pod can still get the responses of the agents.
	server := agentstest.Start(t, there, agentOn("node-a", agent.URL))
	server.Refuse(refusing(403, "/shop/pods"))
	kubectl(t, server, "explain", pod).must(t, ExitOK, "shop/web-0: 2.0 s to ready", "")

	runs(
		t,
		PluginProgram,
		environment{"KUBECONFIG": agentstest.Kubeconfig(t, "http://"+agentstest.ClosedAddress(t))},
		"explain",
		pod,
	).
		must(t, ExitUnreachable, "", "connection refused")
}

func TestChooseAgents(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, responseRecord)
	}))
	defer agent.Close()
	config := environment{"KUBECONFIG": agentstest.Kubeconfig(t, agentstest.Start(t, agentOn("node-a", agent.URL)).URL)}
	runs(t, AgentProgram, config, "explain", "shop/web-0").must(t, ExitOK, "shop/web-0: 2.0 s", "")
	runs(t, AgentProgram, config, "explain", "shop/web-0", "--server", agent.URL).
		must(t, ExitOK, "shop/web-0: 2.0 s", "")
	runs(t, AgentProgram, config, "explain", "web-0", "--server", agent.URL, "-n", "shop").
		must(t, ExitOK, "shop/web-0: 2.0 s", "")

	runs(t, PluginProgram, environment{}, "explain", "shop/web-0").
		must(t, ExitUsage, "", "no kubeconfig found: set --kubeconfig")
	runs(t, PluginProgram, config, "explain", "--context=none").
		must(t, ExitUsage, "", "context was not found for specified context: none")
	runs(t, PluginProgram, environment{}, "explain", "--kubeconfig=/none").must(t, ExitUsage, "", "/none: no such file")
	runs(t, PluginProgram, config, "explain", "a/b/c").must(t, ExitUsage, "", "must be POD, TYPE/NAME or")
	runs(t, PluginProgram, config, "explain", "--server", agent.URL, "--node=x").
		must(t, ExitUsage, "", "--node cannot be combined with --server")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, PluginProgram, config, "explain", "shop/web-0", "--token-file", token, "--insecure-skip-tls-verify").
		must(t, ExitUsage, "",
			"--server is required for --insecure-skip-tls-verify, --token-file: add --server")
	runs(t, PluginProgram, config, "explain", "web-0", "--server", agent.URL).
		must(t, ExitUsage, "", "add -n NAMESPACE")
	runs(t, PluginProgram, config, "explain", "--server=ftp://me:secret@host").
		must(t, ExitUsage, "", "must be http://HOST:PORT")
	got := runs(t, PluginProgram, config, "explain", "--server=ftp://me:secret@host")
	if strings.Contains(got.stderr, "secret") {
		t.Errorf("prints the password: %s", got.stderr)
	}
	runs(t, PluginProgram, config, "top", "--since=forever").must(t, ExitUsage, "", "must be at most 7d")
	runs(t, PluginProgram, config, "top", "--since=60", "--timeout=1").must(t, ExitUsage, "", "unit s, m, h or d")
	runs(t, PluginProgram, config, "pulls", "--timeout=0s", "-o", "xml", "--color=red").
		must(t, ExitUsage, "", "3 problems")
	runs(t, PluginProgram, config, "none").must(t, ExitUsage, "", `unknown command "none"`)
}

// TestQueryOverTLS checks that the client and the agent verify certificates. With --insecure-skip-tls-verify, the
// client accepts any certificate.
func TestQueryOverTLS(t *testing.T) {
	agent := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, responseRecord)
	}))
	defer agent.Close()
	agent.Config.ErrorLog = log.New(io.Discard, "", 0) // the log contains handshakes that the clients refused
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pemOf(agent.Certificate().Raw), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := func(flags ...string) commandOutput {
		return runs(t, AgentProgram, environment{},
			append([]string{"explain", "shop/web-0", "--server", agent.URL}, flags...)...)
	}
	asked("--ca-file", authority).must(t, ExitOK, "shop/web-0: 2.0 s", "")
	asked("--insecure-skip-tls-verify").must(t, ExitOK, "shop/web-0: 2.0 s", "")
	runs(t, AgentProgram, environment{}, "explain", "--server", agent.URL, "--insecure-skip-tls-verify",
		"shop/web-0").must(t, ExitOK, "shop/web-0: 2.0 s", "")
	runs(t, AgentProgram, environment{}, "explain", "--server", agent.URL, "--insecure-skip-tls-verify", "off",
		"shop/web-0").must(t, ExitUnreachable, "", "certificate")
	asked().must(t, ExitUnreachable, "", "certificate")
	asked("--ca-file=/dev/null").must(t, ExitUsage, "", "does not contain a PEM certificate")
	asked("--cert-file=/none").must(t, ExitUsage, "", "--cert-file")
}

// TestHostileResponsesAreEscaped checks that only printable characters of an agent's responses reach a terminal.
func TestHostileResponsesAreEscaped(t *testing.T) {
	evil := strings.Repeat("<b>\x1b[2J\x1b]0;x\a\u202e\u0301\u009b", 50_000) // a megabyte
	text, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	record := strings.NewReplacer(`"2.0 s to ready: 2.0 s pulling from docker.io; ±0.5 s"`, string(text), `"web-0"`,
		string(text), `"app"`, string(text),
		`"node-a"`, string(text)).Replace(responseRecord)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/none"):
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"reason":"\u001b[2J\u202e%s"}`, strings.Repeat("x", 60_000))
		case strings.HasSuffix(r.URL.Path, "/web-0"):
			fmt.Fprint(w, record)
		case strings.HasSuffix(r.URL.Path, "/pulls"):
			fmt.Fprintf(
				w,
				`{"items":[{"namespace":%s,"pod":%[1]s,"image":%[1]s,"state":%[1]s}],"recent":[{"pod":%[1]s,`+
					`"image":%[1]s,"outcome":%[1]s}]}`,
				text,
			)
		default:
			fmt.Fprintf(w, `{"items":[%s]}`, record)
		}
	}))
	defer agent.Close()
	server := agentstest.Start(t, agentOn("node-a", agent.URL))
	for _, args := range [][]string{{"explain", "shop/web-0"}, {"explain", "shop/none"}, {"explain"}, {"top"},
		{"pulls"}} {
		for _, format := range []string{"table", "json", "yaml"} {
			if format != "table" && len(args) == 1 {
				continue
			}
			got := kubectl(t, server, append(args, "-o", format)...)
			if got.code != ExitOK && got.code != ExitNotFound {
				t.Errorf("%s: exit %d, %s", args, got.code, got.stderr)
			}
			for _, out := range []string{got.stdout, got.stderr} {
				if strings.ContainsAny(out, "\x1b\a\u202e\u0301\u009b\r") {
					t.Errorf("%s -o %s: %.300q", args, format, out)
				}
				if format == "table" && len(out) > 64<<10 {
					t.Errorf("%s: %d bytes", args, len(out))
				}
			}
		}
	}
}

// TestFailuresAreSummedUp checks that a command lists only the first errors of agents, and the numbers of all other
// errors.
func TestFailuresAreSummedUp(t *testing.T) {
	var failed []error
	for n := range 3 * maxFailures {
		failed = append(failed, &nodeError{fmt.Sprint("silent-", n), errors.New("refused")},
			&nodeError{fmt.Sprint("late-", n), fmt.Errorf("%w: %w", agents.ErrNotQueried, context.DeadlineExceeded)})
	}
	failed = append(failed, &omitted{pods: 7})
	var stderr strings.Builder
	query := agentQuery{Call: Call{Program: programOf(PluginProgram), Command: "top", Stderr: &stderr},
		agentAccess: agentAccess{target: target{limit: 30 * time.Second}}}
	query.noteFailed(failed)
	for text, times := range map[string]int{
		"node silent-": maxFailures, "node late-": 0, "20 more agents did not respond": 1,
		"7 more pods are not shown": 1,
		"30 agents were not queried within the time limit 30s: set a longer --timeout, for example --timeout=40s": 1,
	} {
		if got := strings.Count(stderr.String(), text); got != times {
			t.Errorf("%q appears %d times, want %d:\n%s", text, got, times, stderr.String())
		}
	}
}
