package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
)

// TestPage opens the page over a port-forward, replaces the agent's pod, and then ends the command in the same way as
// Ctrl-C.
func TestPage(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s", r.URL.Path, r.Header.Get("X-Forwarded-For"))
	}))
	defer agent.Close()
	server := agentstest.Start(t, agentOn("node-a", agent.URL), agentOn("node-b", ""))
	env := environment{"KUBECONFIG": agentstest.Kubeconfig(t, server.URL)}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, stdout := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- programOf(PluginProgram).Run(ctx, []string{"page", "node/node-a"}, env.get, stdout, &stderr)
		_ = stdout.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "The page of node node-a is at ")
	if err != nil || !found {
		t.Fatalf("printed %q, %v, %s", line, err, stderr.String())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	browser := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	get := func() {
		t.Helper()
		response, err := browser.Get(url + "index.html")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if body, err := io.ReadAll(response.Body); err != nil || string(body) != "/index.html " {
			t.Errorf("the agent got %q, %v; want a direct request", body, err)
		}
	}
	get()
	replaced := agentOn("node-a", agent.URL)
	replaced.Name = "agent-new"
	server.Set(replaced)
	get()
	interrupt()
	if got := <-code; got != ExitOK {
		t.Errorf("exit code %d, %s", got, stderr.String())
	}
}

// TestBrokenConnectionToAgent checks that an error of the connection to the agent is not mistaken for an error of the
// connection to the browser, which the command ignores.
func TestBrokenConnectionToAgent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	browser, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer browser.Close()
	broken := errors.New("lost connection to pod")
	err = copyToBrowser(browser, iotest.ErrReader(broken))
	if ofBrowser := (*net.OpError)(nil); !errors.Is(err, broken) || errors.As(err, &ofBrowser) {
		t.Errorf("got %v (%T), want %v", err, err, broken)
	}
}

func TestPageIsRefused(t *testing.T) {
	server := agentstest.Start(t, agentOn("node-a", ""))
	kubectl(t, server, "page").must(t, ExitUsage, "", "a node name is required")
	kubectl(t, server, "page", "pod/web-0").must(t, ExitUsage, "", "must be the name of one node")
	kubectl(t, server, "page", "node-a", "--node=node-b").must(t, ExitUsage, "", "remove the argument or --node")
	kubectl(t, server, "page", "node-a", "--port=70000").must(t, ExitUsage, "", "must be 0 to 65535")
	kubectl(t, server, "page", "node-z").must(t, ExitUnreachable, "", `no agent found on node "node-z"`)
	kubectl(t, server, "page", "node-a").must(t, ExitFailed, "", "cannot forward port")
	runs(t, AgentProgram, environment{}, "page", "node-a", "--server=http://127.0.0.1:1").
		must(t, ExitUsage, "", "unknown flag --server")
	runs(t, AgentProgram, environment{}, "page", "node-a").
		must(t, ExitUsage, "", "open the agent's URL in a browser")
}
