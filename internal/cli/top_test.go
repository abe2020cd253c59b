package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/pkg/client"
)

// TestTopForgetsDeletedAgent has an agent that refuses a stream permanently before top searches for agents again. The
// refusal ends the stream. This happens during the rollout of a DaemonSet.
func TestTopForgetsDeletedAgent(t *testing.T) {
	server := agentstest.Start(t) // knows no pods, so every stream fails
	agentCalled := func(pod string) agents.Agent {
		proxy := server.URL + "/api/v1/namespaces/podlapse/pods/" + pod + ":9717/proxy"
		return agents.Agent{Client: client.Client{Server: proxy,
			HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}, Node: "node-a", Pod: pod}
	}
	ctx, stop := context.WithCancel(t.Context())
	f := newFollowers(agentQuery{}, topConfig{})
	f.follow(ctx, []agents.Agent{agentCalled("before")})
	f.end(<-f.ended)
	f.follow(ctx, []agents.Agent{agentCalled("after")})
	if got := fmt.Sprint(f.board.Agents()); got != "[after]" {
		t.Errorf("follows %s, want [after]", got)
	}
	stop()
	f.wait()
}

func TestKeys(t *testing.T) {
	in, terminal := io.Pipe()
	typed := keys(in)
	for _, text := range []string{"\x1bOQ", "aq"} { // the function key F2, and two other keys
		if _, err := io.WriteString(terminal, text); err != nil {
			t.Fatal(err)
		}
	}
	if got := string([]byte{<-typed, <-typed}); got != "aq" {
		t.Errorf("typed %q", got)
	}
	terminal.Close()
}

// TestTopOfNamespace checks that top does not count pulls of other namespaces.
func TestTopOfNamespace(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/pulls" {
			fmt.Fprint(
				w,
				`{"items":[{"namespace":"shop","pod":"a"},{"namespace":"shop","pod":"b"},{"namespace":"other",`+
					`"pod":"c"}],"recent":[]}`,
			)
			return
		}
		fmt.Fprint(w, `{"items":[]}`)
	}))
	defer agent.Close()
	runs(t, AgentProgram, environment{}, "top", "--server", agent.URL, "-n", "shop").
		must(t, ExitOK, "started recently, 2 pulls in progress", "")
	runs(t, AgentProgram, environment{}, "top", "--server", agent.URL).
		must(t, ExitOK, "started recently, 3 pulls in progress", "")
	runs(t, AgentProgram, environment{}, "explain", "--server", agent.URL, "-n", "shop").
		must(t, ExitOK, "no known pods in namespace shop", "")
}
