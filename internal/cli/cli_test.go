package cli

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// environment is the environment of a test's command.
type environment map[string]string

func (e environment) get(name string) string { return e[name] }

// programOf is a program of this name with all commands of this package.
func programOf(name string) Program {
	return Program{Name: name, Commands: slices.Concat(Asking(), []Command{Replay(), Completion(), Help()})}
}

// run is the program under its own name.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	return programOf(AgentProgram).Run(ctx, args, getenv, stdout, stderr)
}

// said is what a command prints, and its exit code.
type said struct {
	code           int
	stdout, stderr string
}

// kubectl runs the program as kubectl's plugin, with a kubeconfig of the API server.
func kubectl(t *testing.T, server *agentstest.APIServer, args ...string) said {
	t.Helper()
	return runs(t, PluginProgram, environment{"KUBECONFIG": kubeconfig(t, server.URL)}, args...)
}

func runs(t *testing.T, program string, env environment, args ...string) said {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := programOf(program).Run(t.Context(), args, env.get, &stdout, &stderr)
	return said{code, stdout.String(), stderr.String()}
}

func (s said) must(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if s.code != code || !strings.Contains(s.stdout, stdout) || !strings.Contains(s.stderr, stderr) {
		t.Errorf("exit %d; want %d with %q and %q, got\n%s\n%s", s.code, code, stdout, stderr, s.stdout, s.stderr)
	}
	if code != ExitOK && code != ExitPartial && code != ExitUsage && s.stdout != "" {
		t.Errorf("printed although it failed:\n%s", s.stdout)
	}
}

func kubeconfig(t testing.TB, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"c",` +
		`"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u"}],` +
		`"clusters":[{"name":"c","cluster":{"server":"` + url + `"}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// nobody is an address where nothing listens.
func nobody(t *testing.T) string {
	t.Helper()
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
