package cli

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
)

func pemOf(certificate []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
}

func TestProgramName(t *testing.T) {
	for _, test := range []struct{ args, program, rest string }{
		{"/usr/local/bin/podlapse-agent top", AgentProgram, "top"},
		{"kubectl-podlapse explain a/b", PluginProgram, "explain a/b"},
		{`kubectl-podlapse.exe top`, PluginProgram, "top"},
		{"/bin/kubectl_complete-podlapse explain a", PluginProgram, "__complete explain a"},
		{"", AgentProgram, ""},
	} {
		program, rest := Called(strings.Fields(test.args))
		if program != test.program || strings.Join(rest, " ") != test.rest {
			t.Errorf("%s: %s %q", test.args, program, rest)
		}
	}
	runs(t, PluginProgram, environment{}, "help").must(t, ExitOK, "kubectl podlapse COMMAND --help", "")
	runs(t, PluginProgram, environment{}, "explain", "--help").must(t, ExitOK, "Usage: kubectl podlapse explain", "")
	runs(t, AgentProgram, environment{}, "explain", "--help").must(t, ExitOK, "--namespace, -n NAME", "")
}

func TestCompletion(t *testing.T) {
	server := agentstest.Start(t, agentOn("node-a", ""), agentOn("node-b", ""),
		agentstest.Pod{Namespace: "shop", Name: "web-0", Node: "node-a"},
		agentstest.Pod{Namespace: "shop", Name: "web-1"}, agentstest.Pod{Namespace: "default", Name: "batch"},
		agentstest.Pod{Namespace: "shop", Name: "web-$(reboot)"},
		agentstest.Pod{Namespace: "shop", Name: "web-\x1b[2J"})
	config := environment{"KUBECONFIG": agentstest.Kubeconfig(t, server.URL)}
	for _, test := range []struct{ line, want string }{
		{"explain shop/we", "shop/web-0 shop/web-1 :4"},
		{"explain -n shop ", "web-0 web-1 :4"},
		{"explain ba", "batch :4"},
		{"explain sho", "shop/ :6"}, // the name continues after the slash
		{"explain shop/web-0 ", ":4"},
		{"explain --node ", "node-a node-b :4"},
		{"explain --namespace s", "shop :4"},
		{"explain --context ", "c :4"},
		{"top -o ", "table wide json yaml name :4"},
		{"explain -n shop pod/we", "pod/web-0 pod/web-1 :4"},
		{"explain node/", "node/node-a node/node-b :4"},
		{"page ", "node-a node-b :4"},
		{"nodes -o wide ", "node-a node-b :4"},
		{"explain --token-file ", ":0"},
		{"pulls --insecure-skip-tls-verify=", "on off :4"},
	} {
		got := runs(t, PluginProgram, config, append([]string{"__completeNoDesc"}, strings.Split(test.line, " ")...)...)
		if joined := strings.Join(strings.Fields(got.stdout), " "); got.code != ExitOK || joined != test.want {
			t.Errorf("%q: exit %d, %q; want %q", test.line, got.code, joined, test.want)
		}
	}
	runs(t, PluginProgram, config, "__complete", "").must(t, ExitOK, "explain\tshow where", "")
	runs(t, AgentProgram, config, "__complete", "--", "completion", "").must(t, ExitOK, "", "")
	runs(t, AgentProgram, config, "__complete", "explain", "--server").
		must(t, ExitOK, "--server\tURL of one agent. The command queries this agent", "")

	server.Refuse(func(*http.Request) int { return http.StatusForbidden })
	runs(t, PluginProgram, config, "__complete", "explain", "").must(t, ExitOK, "pod/\ndeploy/\n", "")
}

// TestCompletionScripts checks the syntax of the scripts with the installed shells.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range shells() {
		got := runs(t, AgentProgram, environment{}, "completion", shell)
		got.must(t, ExitOK, "__complete", "")
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not installed: its script was not checked", shell)
			continue
		}
		check := exec.CommandContext(t.Context(), path, "-n")
		check.Stdin = bytes.NewBufferString(got.stdout)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
	runs(t, AgentProgram, environment{}, "completion", "csh").must(t, ExitUsage, "",
		`invalid shell "csh": must be bash, zsh or fish`)
	runs(t, AgentProgram, environment{}, "completion").must(t, ExitUsage, "", "the name of a shell is required")
}

// TestCompletionKnowsEveryCommand passes the tables of flags to cobra, which refuses duplicate names.
func TestCompletionKnowsEveryCommand(t *testing.T) {
	root := completions(Call{Program: programOf(AgentProgram), Getenv: environment{}.get})
	for _, c := range programOf(AgentProgram).Commands {
		if sub, _, err := root.Find([]string{c.Name}); err != nil || sub.Name() != c.Name {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}
