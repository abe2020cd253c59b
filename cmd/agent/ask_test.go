package main

import (
	"bytes"
	"encoding/json"
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

	"go.yaml.in/yaml/v2"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/podwatch/podwatchtest"
)

// told is what a command says.
type said struct {
	code           int
	stdout, stderr string
}

// kubectl runs the program as kubectl's plugin, with a kubeconfig of the API server.
func kubectl(t *testing.T, server *agentstest.APIServer, args ...string) said {
	t.Helper()
	return runs(t, pluginProgram, environment{"KUBECONFIG": kubeconfig(t, server.URL)}, args...)
}

func runs(t *testing.T, program string, env environment, args ...string) said {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := runAs(t.Context(), program, args, env.get, &stdout, &stderr)
	return said{code, stdout.String(), stderr.String()}
}

func (s said) must(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if s.code != code || !strings.Contains(s.stdout, stdout) || !strings.Contains(s.stderr, stderr) {
		t.Errorf("exit %d; want %d with %q and %q, got\n%s\n%s", s.code, code, stdout, stderr, s.stdout, s.stderr)
	}
	if code != exitOK && code != exitPartial && code != exitUsage && s.stdout != "" {
		t.Errorf("printed although it failed:\n%s", s.stdout)
	}
}

// goneFromNodeA is a real agent on node-a that has seen shop/web-0 start, and go.
func goneFromNodeA(t *testing.T) *process {
	t.Helper()
	cluster := podwatchtest.Start(t)
	agent := start(t, "--kubeconfig", kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events", "off")
	agent.poll("/readyz?verbose", "[+]pod_watch ok")
	pod := web0(time.Now().Add(-3 * time.Second))
	cluster.Put(pod)
	cluster.Put(ready(pod, time.Now()))
	agent.poll("/api/v1/pods/shop/web-0", `"state":"ready"`)
	cluster.Delete(ready(pod, time.Now()))
	agent.poll("/api/v1/pods/shop/web-0", `"gone_at"`)
	return agent
}

func agentOn(node, url string) agentstest.Pod {
	return agentstest.Pod{Namespace: "podlapse", Name: "agent-" + node, Node: node, Port: 9717, Ready: true, Agent: url}
}

// TestAskAClusterOfRealAgents asks a real agent through the API server's proxy, of a pod that is gone.
func TestAskAClusterOfRealAgents(t *testing.T) {
	agent := goneFromNodeA(t)
	other := start(t, "--kubeconfig", kubeconfig(t, podwatchtest.Start(t).URL()), "--cri-endpoint", "off", "--events", "off")
	server := agentstest.Start(t, agentOn("node-a", agent.base), agentOn("node-b", other.base))
	const verdict = "shop/web-0: "

	kubectl(t, server, "explain", "shop/web-0").must(t, exitOK, verdict, "")
	kubectl(t, server, "explain", "-n", "shop", "web-0").must(t, exitOK, verdict, "")
	kubectl(t, server, "explain", "-nshop", "web-0", "--node=node-a").must(t, exitOK, verdict, "")
	kubectl(t, server, "explain", "shop/web-0", "--node=node-b").must(t, exitNotFound, "", `node node-b: the agent says: "no pod shop/web-0`)
	kubectl(t, server, "explain", "web-0").must(t, exitNotFound, "", "no agent knows the pod default/web-0 (2 agents asked)")
	kubectl(t, server, "explain").must(t, exitOK, "node-a  shop/web-0  ready", "")
	kubectl(t, server, "top").must(t, exitOK, "2 nodes: 0 starting, 1 started recently", "")
	kubectl(t, server, "top", "--node", "node-a").must(t, exitOK, "node node-a: 0 starting, 1 started recently", "")
	kubectl(t, server, "pulls").must(t, exitOK, "no pulls in progress", "")

	asJSON := kubectl(t, server, "explain", "shop/web-0", "-o", "json")
	var record export.Record
	if err := json.Unmarshal([]byte(asJSON.stdout), &record); err != nil || record.Name != "web-0" || record.Node != "node-a" || record.GoneAt.IsZero() {
		t.Errorf("%v: %s", err, asJSON.stdout)
	}
	_, direct := agent.get("/api/v1/pods/shop/web-0")
	var want, got any
	if err := json.Unmarshal([]byte(direct), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(asJSON.stdout), &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v: the command says\n%v\nand the API\n%v", err, got, want)
	}
	var inYAML struct {
		Items []struct{ Name, Node string }
	}
	asYAML := kubectl(t, server, "top", "--output=yaml")
	if err := yaml.Unmarshal([]byte(asYAML.stdout), &inYAML); err != nil || len(inYAML.Items) != 1 || inYAML.Items[0].Name != "web-0" || inYAML.Items[0].Node != "node-a" {
		t.Errorf("%v: %s", err, asYAML.stdout)
	}
	kubectl(t, server, "pulls", "-ojson").must(t, exitOK, `"node": "node-b"`, "")

	// An agent that cannot be reached is named, and what the others know is printed.
	server.Set(agentOn("node-a", agent.base), agentOn("node-b", ""))
	for _, command := range [][]string{{"explain", "shop/web-0"}, {"explain"}, {"top"}, {"pulls"}} {
		got := kubectl(t, server, command...)
		got.must(t, exitPartial, "", `node node-b: the API server says: "error trying to reach service`)
		if got.stdout == "" {
			t.Errorf("%s prints nothing", command)
		}
	}
	kubectl(t, server, "explain", "shop/none").must(t, exitUnreachable, "", "2 agents asked: 1 did not answer, and the others do not know pod shop/none")

	// A pod that is there has a node, and other nodes are not asked.
	before := len(server.Asked())
	server.Set(agentOn("node-a", agent.base), agentOn("node-b", ""), agentstest.Pod{Namespace: "shop", Name: "web-0", Node: "node-a"},
		agentstest.Pod{Namespace: "shop", Name: "new"})
	kubectl(t, server, "explain", "shop/web-0").must(t, exitOK, verdict, "")
	if asked := strings.Join(server.Asked()[before:], " "); strings.Contains(asked, "node-b:9717") {
		t.Errorf("asked %s", asked)
	}
	kubectl(t, server, "explain", "shop/new").must(t, exitNotFound, "", "pod shop/new is not bound to a node yet")
	agent.mustEndCleanly()
	other.mustEndCleanly()
}

func TestAskAClusterThatRefuses(t *testing.T) {
	const pod = "shop/web-0"
	there := agentstest.Pod{Namespace: "shop", Name: "web-0", Node: "node-a"}
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, answerRecord) }))
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
		"no rule for the proxy":      {[]agentstest.Pod{there, agentOn("node-a", agent.URL)}, refusing(403, "/proxy/"), exitForbidden, "in namespace podlapse, list pods, get pods/proxy"},
		"no rule for the agents":     {[]agentstest.Pod{there, agentOn("node-a", agent.URL)}, refusing(403, "/podlapse/pods"), exitForbidden, "list the agents' pods: the API server says"},
		"a wrong token":              {[]agentstest.Pod{there}, refusing(401, "/"), exitForbidden, "rejects the kubeconfig's credentials"},
		"an API server that is down": {[]agentstest.Pod{there}, refusing(503, "/"), exitUnreachable, "is overloaded"},
		"no agent on the node":       {[]agentstest.Pod{there, agentOn("node-b", agent.URL)}, nil, exitUnreachable, `no agent on node "node-a"`},
		"no agents":                  {nil, nil, exitUnreachable, "--agent-namespace"},
		"an agent that is down":      {[]agentstest.Pod{there, agentOn("node-a", "")}, nil, exitUnreachable, "kubectl -n podlapse port-forward"},
		"an agent that wants tokens": {[]agentstest.Pod{there, agentOn("node-a", tokens.URL)}, nil, exitForbidden, "The API server's proxy does not forward credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			server := agentstest.Start(t, test.pods...)
			server.Refuse(test.refuse)
			kubectl(t, server, "explain", pod).must(t, test.code, "", test.stderr)
		})
	}
	// Who may not ask for the pod may still know its name, and read what agents say.
	server := agentstest.Start(t, there, agentOn("node-a", agent.URL))
	server.Refuse(refusing(403, "/shop/pods"))
	kubectl(t, server, "explain", pod).must(t, exitOK, "shop/web-0: 2.0 s to ready", "")

	runs(t, pluginProgram, environment{"KUBECONFIG": kubeconfig(t, "http://"+nobody(t))}, "explain", pod).must(t, exitUnreachable, "", "connection refused")
}

func TestWhomToAsk(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answerRecord) }))
	defer agent.Close()
	config := environment{"KUBECONFIG": kubeconfig(t, agentstest.Start(t, agentOn("node-a", agent.URL)).URL)}
	runs(t, agentProgram, config, "explain", "shop/web-0").must(t, exitOK, "shop/web-0: 2.0 s", "")
	runs(t, agentProgram, config, "explain", "shop/web-0", "--server", agent.URL).must(t, exitOK, "shop/web-0: 2.0 s", "")
	runs(t, agentProgram, config, "explain", "web-0", "--server", agent.URL, "-n", "shop").must(t, exitOK, "shop/web-0: 2.0 s", "")

	runs(t, pluginProgram, environment{}, "explain", "shop/web-0").must(t, exitUsage, "", "no kubeconfig found: set --kubeconfig")
	runs(t, pluginProgram, config, "explain", "--context=none").must(t, exitUsage, "", "context was not found for specified context: none")
	runs(t, pluginProgram, environment{}, "explain", "--kubeconfig=/none").must(t, exitUsage, "", "/none: no such file")
	runs(t, pluginProgram, config, "explain", "a/b/c").must(t, exitUsage, "", "must be NAMESPACE/POD")
	runs(t, pluginProgram, config, "explain", "--server", agent.URL, "--node=x").must(t, exitUsage, "", "--node cannot be combined with --server")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, pluginProgram, config, "explain", "shop/web-0", "--token-file", token, "--insecure-skip-tls-verify").must(t, exitUsage, "",
		"--insecure-skip-tls-verify, --token-file: requires --server")
	runs(t, pluginProgram, config, "explain", "web-0", "--server", agent.URL).must(t, exitUsage, "", "must be NAMESPACE/POD")
	runs(t, pluginProgram, config, "explain", "--server=ftp://me:secret@host").must(t, exitUsage, "", "must be http://HOST:PORT")
	if got := runs(t, pluginProgram, config, "explain", "--server=ftp://me:secret@host"); strings.Contains(got.stderr, "secret") {
		t.Errorf("tells the password: %s", got.stderr)
	}
	runs(t, pluginProgram, config, "top", "--since=forever").must(t, exitUsage, "", "must be at most 168h")
	runs(t, pluginProgram, config, "pulls", "--timeout=0s", "-o", "xml", "--color=red").must(t, exitUsage, "", "3 problems")
	runs(t, pluginProgram, config, "run").must(t, exitUsage, "", `unknown command "run"`)
}

// TestAskOverTLS shows and checks certificates, and takes any if it is told to.
func TestAskOverTLS(t *testing.T) {
	agent := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answerRecord) }))
	defer agent.Close()
	agent.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of clients that refuse
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pemOf(agent.Certificate().Raw), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := func(flags ...string) said {
		return runs(t, agentProgram, environment{}, append([]string{"explain", "shop/web-0", "--server", agent.URL}, flags...)...)
	}
	asked("--ca-file", authority).must(t, exitOK, "shop/web-0: 2.0 s", "")
	asked("--insecure-skip-tls-verify").must(t, exitOK, "shop/web-0: 2.0 s", "")
	runs(t, agentProgram, environment{}, "explain", "--server", agent.URL, "--insecure-skip-tls-verify", "shop/web-0").must(t, exitOK, "shop/web-0: 2.0 s", "")
	runs(t, agentProgram, environment{}, "explain", "--server", agent.URL, "--insecure-skip-tls-verify", "off", "shop/web-0").must(t, exitUnreachable, "", "certificate")
	asked().must(t, exitUnreachable, "", "certificate")
	asked("--ca-file=/dev/null").must(t, exitUsage, "", "does not contain a PEM certificate")
	asked("--cert-file=/none").must(t, exitUsage, "", "--cert-file")
}

// TestHostileAnswersAreInert holds that whatever an agent says, nothing of it reaches a terminal but characters that show themselves.
func TestHostileAnswersAreInert(t *testing.T) {
	evil := strings.Repeat("<b>\x1b[2J\x1b]0;x\a\u202e\u0301\u009b", 50_000) // a megabyte
	text, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	record := strings.NewReplacer(`"2.0 s to ready: 2.0 s pulling from docker.io; ±0.5 s"`, string(text), `"web-0"`, string(text), `"app"`, string(text),
		`"node-a"`, string(text)).Replace(answerRecord)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/none"):
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"reason":"\u001b[2J\u202e%s"}`, strings.Repeat("x", 60_000))
		case strings.HasSuffix(r.URL.Path, "/web-0"):
			fmt.Fprint(w, record)
		case strings.HasSuffix(r.URL.Path, "/pulls"):
			fmt.Fprintf(w, `{"items":[{"namespace":%s,"pod":%[1]s,"image":%[1]s,"state":%[1]s}],"recent":[{"pod":%[1]s,"image":%[1]s,"outcome":%[1]s}]}`, text)
		default:
			fmt.Fprintf(w, `{"items":[%s]}`, record)
		}
	}))
	defer agent.Close()
	server := agentstest.Start(t, agentOn("node-a", agent.URL))
	for _, args := range [][]string{{"explain", "shop/web-0"}, {"explain", "shop/none"}, {"explain"}, {"top"}, {"pulls"}} {
		for _, format := range []string{"table", "json", "yaml"} {
			if format != "table" && len(args) == 1 {
				continue
			}
			got := kubectl(t, server, append(args, "-o", format)...)
			if got.code != exitOK && got.code != exitNotFound {
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
