package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v2"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/api"
)

// commandResult is the output of a command, and its exit code.
type commandResult struct {
	code           int
	stdout, stderr string
}

// kubectl runs the program as a kubectl plugin, with a kubeconfig of the API server.
func kubectl(t *testing.T, server *agentstest.APIServer, args ...string) commandResult {
	t.Helper()
	return runProgram(t, cli.PluginProgram, environment{"KUBECONFIG": agentstest.Kubeconfig(t, server.URL)}, args...)
}

func runProgram(t *testing.T, program string, env environment, args ...string) commandResult {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := runAs(t.Context(), program, args, env.get, &stdout, &stderr)
	return commandResult{code, stdout.String(), stderr.String()}
}

func (s commandResult) must(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if s.code != code || !strings.Contains(s.stdout, stdout) || !strings.Contains(s.stderr, stderr) {
		t.Errorf("exit %d; want %d with %q and %q, got\n%s\n%s", s.code, code, stdout, stderr, s.stdout, s.stderr)
	}
	if code != cli.ExitOK && code != cli.ExitPartial && code != cli.ExitUsage && s.stdout != "" {
		t.Errorf("failed but printed\n%s", s.stdout)
	}
}

// agentWithDeletedPod starts an agent on node-a. The agent has seen the start and the deletion of the pod shop/web-0.
func agentWithDeletedPod(t *testing.T) *process {
	t.Helper()
	cluster := podwatchtest.Start(t)
	agent := start(t, "--kubeconfig", agentstest.Kubeconfig(t, cluster.URL()), "--cri-endpoint", "off", "--events",
		"off")
	agent.pollUntil("/readyz?verbose", "[+]pod_watch ok")
	pod := web0(time.Now().Add(-3 * time.Second))
	cluster.Put(pod)
	cluster.Put(readyPod(pod, time.Now()))
	agent.pollUntil("/api/v1/pods/shop/web-0", `"state":"ready"`)
	cluster.Delete(readyPod(pod, time.Now()))
	agent.pollUntil("/api/v1/pods/shop/web-0", `"gone_at"`)
	return agent
}

func agentOn(node, url string) agentstest.Pod {
	return agentstest.Pod{Namespace: "podlapse", Name: "agent-" + node, Node: node, Port: 9717, Ready: true, Agent: url}
}

// TestExplainThroughAPIServer queries a real agent about a deleted pod, through the API server's proxy.
func TestExplainThroughAPIServer(t *testing.T) {
	agent := agentWithDeletedPod(t)
	other := start(t, "--kubeconfig", agentstest.Kubeconfig(t, podwatchtest.Start(t).URL()), "--cri-endpoint", "off",
		"--events", "off")
	server := agentstest.Start(t, agentOn("node-a", agent.base), agentOn("node-b", other.base))
	const verdict = "shop/web-0: "

	kubectl(t, server, "explain", "shop/web-0").must(t, cli.ExitOK, verdict, "")
	kubectl(t, server, "explain", "-n", "shop", "web-0").must(t, cli.ExitOK, verdict, "")
	kubectl(t, server, "explain", "-nshop", "web-0", "--node=node-a").must(t, cli.ExitOK, verdict, "")
	kubectl(t, server, "explain", "shop/web-0", "--node=node-b").
		must(t, cli.ExitNotFound, "", `node node-b: the agent responded: "no pod shop/web-0`)
	kubectl(t, server, "explain", "web-0").
		must(t, cli.ExitNotFound, "", "no agent knows the pod default/web-0 (agents queried: 2)")
	kubectl(t, server, "explain").must(t, cli.ExitOK, "node-a  shop/web-0  ready", "")
	kubectl(t, server, "top").must(t, cli.ExitOK, "2 nodes: 0 starting, 1 started recently", "")
	kubectl(t, server, "top", "--node", "node-a").must(t, cli.ExitOK, "node node-a: 0 starting, 1 started recently", "")
	// Without the runtime and Events, no evidence shows that the pod's image was pulled.
	kubectl(t, server, "pulls").must(t, cli.ExitOK, "no pulls in progress, and no completed pulls", "")

	asJSON := kubectl(t, server, "explain", "shop/web-0", "-o", "json")
	var record api.Record
	if err := json.Unmarshal([]byte(asJSON.stdout), &record); err != nil || record.Name != "web-0" ||
		record.Node != "node-a" || record.GoneAt.IsZero() {
		t.Errorf("%v: %s", err, asJSON.stdout)
	}
	_, direct := agent.get("/api/v1/pods/shop/web-0")
	var want, got any
	if err := json.Unmarshal([]byte(direct), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(asJSON.stdout), &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v: the command returns\n%v\nand the API\n%v", err, got, want)
	}
	var inYAML struct {
		Items []struct{ Name, Node string }
	}
	asYAML := kubectl(t, server, "top", "--output=yaml")
	if err := yaml.Unmarshal([]byte(asYAML.stdout), &inYAML); err != nil || len(inYAML.Items) != 1 ||
		inYAML.Items[0].Name != "web-0" || inYAML.Items[0].Node != "node-a" {
		t.Errorf("%v: %s", err, asYAML.stdout)
	}
	kubectl(t, server, "pulls", "-ojson").must(t, cli.ExitOK, `"node": "node-b"`, "")

	// The commands name each unreachable agent, and print the responses of all other agents.
	server.Set(agentOn("node-a", agent.base), agentOn("node-b", ""))
	for _, command := range [][]string{{"explain", "shop/web-0"}, {"explain"}, {"top"}, {"pulls"}} {
		got := kubectl(t, server, command...)
		got.must(t, cli.ExitPartial, "", `node node-b: the API server responded: "error trying to reach service`)
		if got.stdout == "" {
			t.Errorf("%s prints nothing", command)
		}
	}
	kubectl(t, server, "explain", "shop/none").
		must(t, cli.ExitUnreachable, "", "1 agent did not respond, and the other agents do not know pod shop/none")

	// An existing pod has a node, so the command does not query the agents of other nodes.
	before := len(server.Asked())
	server.Set(agentOn("node-a", agent.base), agentOn("node-b", ""),
		agentstest.Pod{Namespace: "shop", Name: "web-0", Node: "node-a"},
		agentstest.Pod{Namespace: "shop", Name: "new"})
	kubectl(t, server, "explain", "shop/web-0").must(t, cli.ExitOK, verdict, "")
	if requested := strings.Join(server.Asked()[before:], " "); strings.Contains(requested, "node-b:9717") {
		t.Errorf("requests %s", requested)
	}
	kubectl(t, server, "explain", "shop/new").must(t, cli.ExitNotFound, "",
		"pod shop/new: the pod is not bound to a node yet")
	agent.mustEndCleanly()
	other.mustEndCleanly()
}

// TestCompleteEveryCommand completes the name of each command and the flags of the command `run`.
func TestCompleteEveryCommand(t *testing.T) {
	for _, program := range []string{cli.AgentProgram, cli.PluginProgram} {
		for _, c := range commands(program) {
			runProgram(t, program, environment{}, "__completeNoDesc", c.Name).must(t, cli.ExitOK, c.Name+"\n", "")
		}
	}
	runProgram(t, cli.AgentProgram, environment{}, "__complete", "run", "--impersonate-node=").
		must(t, cli.ExitOK, "on\noff\n:4", "")
}

// TestCommandsOfTheAgent gives the kubectl plugin the commands that only the agent has.
func TestCommandsOfTheAgent(t *testing.T) {
	for _, command := range []string{"run", "check", "runtime-proxy", "replay"} {
		runProgram(t, cli.PluginProgram, environment{}, command).must(t, cli.ExitUsage, "", `unknown command "`+command+
			`": only podlapse-agent has this command: use podlapse-agent `+command+"\n")
	}
	runProgram(t, cli.PluginProgram, environment{}, "completion").must(t, cli.ExitUsage, "",
		"unknown command \"completion\"\n")
	runProgram(t, cli.AgentProgram, environment{}, "ran").must(t, cli.ExitUsage, "", "did you mean run?")
}
