package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
)

// hungCluster has agents that accept requests, but never respond. These agents are first, and their pods are not ready.
// The other agents respond.
func hungCluster(t *testing.T, hung, all int) *agentstest.APIServer {
	t.Helper()
	var pods []agentstest.Pod
	for n := range all {
		pod := agentOn(fmt.Sprintf("node-%03d", n), "")
		pod.Handler = &fakeAgent{node: pod.Node}
		if n < hung {
			pod.Ready = false
			pod.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		}
		pods = append(pods, pod)
	}
	return agentstest.Start(t, pods...)
}

// TestHungAgentsDelayNoOthers has 160 agents that never respond, and 136 agents that respond. The time limit is too
// short to query all hung agents, but the responses of the other agents must be complete.
func TestHungAgentsDelayNoOthers(t *testing.T) {
	server := hungCluster(t, 160, 296)
	for command, want := range map[string]string{"report": `"node_count": 136,`, "nodes": `"node": "node-160"`} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			got := atNoon(t, server, command, "-o", "json", "--timeout=5s")
			got.must(t, ExitPartial, want, "node node-000: the agent's pod is not ready: ")
			got.must(t, ExitPartial, "", "agents were not queried within the time limit 5s: set a longer --timeout")
			if command == "nodes" && strings.Count(got.stdout, `"node": "node-`) != 136 {
				t.Errorf("nodes:\n%s", got.stdout)
			}
			if strings.Contains(got.stderr, "node node-295") {
				t.Errorf("a healthy agent did not respond:\n%s", got.stderr)
			}
		})
	}
}

// TestTooLittleTime has only agents that never respond, or no time for the remaining agents. The message must not blame
// the network.
func TestTooLittleTime(t *testing.T) {
	const late = "not queried within the time limit 1s (set a longer --timeout, for example --timeout=20s)"
	for command, want := range map[string]string{
		"report":                      "none of 100 agents responded: ",
		"explain deploy/none -n shop": "none of 100 agents responded: ",
		"explain pod/none -n shop":    "the other agents do not know pod shop/none; the first error is: node node-",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			got := atNoon(t, hungCluster(t, 100, 100), append(strings.Fields(command), "--timeout=1s")...)
			got.must(t, ExitUnreachable, "", want)
			got.must(t, ExitUnreachable, "", late)
			if !strings.Contains(got.stderr, " agents did not respond, and ") ||
				strings.Contains(got.stderr, "port-forward POD") {
				t.Errorf("%s", got.stderr)
			}
		})
	}
}
