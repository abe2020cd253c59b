package cli

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type environment map[string]string

func (e environment) get(name string) string { return e[name] }

// programOf returns a program with this name and all commands of this package.
func programOf(name string) Program {
	return Program{Name: name, Commands: slices.Concat(QueryCommands(), []Command{Replay(), Completion(), Help()})}
}

// run runs the program with the name podlapse-agent.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	return programOf(AgentProgram).Run(ctx, args, getenv, stdout, stderr)
}

// commandOutput contains the output of a command and its exit code.
type commandOutput struct {
	code           int
	stdout, stderr string
}

// kubectl runs the program as a plugin of kubectl, with a kubeconfig for the API server.
func kubectl(t *testing.T, server *agentstest.APIServer, args ...string) commandOutput {
	t.Helper()
	return runs(t, PluginProgram, environment{"KUBECONFIG": agentstest.Kubeconfig(t, server.URL)}, args...)
}

func runs(t *testing.T, program string, env environment, args ...string) commandOutput {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := programOf(program).Run(t.Context(), args, env.get, &stdout, &stderr)
	return commandOutput{code, stdout.String(), stderr.String()}
}

func (o commandOutput) must(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if o.code != code || !strings.Contains(o.stdout, stdout) || !strings.Contains(o.stderr, stderr) {
		t.Errorf("exit %d; want %d with %q and %q, got\n%s\n%s", o.code, code, stdout, stderr, o.stdout, o.stderr)
	}
	if code != ExitOK && code != ExitPartial && code != ExitUsage && o.stdout != "" {
		t.Errorf("printed although it failed:\n%s", o.stdout)
	}
}
