package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
)

// BenchmarkNodesOverForwards runs the command "nodes" on a cluster whose API server does not reach agents. So each
// request needs a port-forward. With a delay, the API server needs this time to open a port-forward.
func BenchmarkNodesOverForwards(b *testing.B) {
	const nodes = 400
	for _, delay := range []time.Duration{0, 100 * time.Millisecond} {
		b.Run(fmt.Sprintf("%d-nodes-%s", nodes, delay), func(b *testing.B) {
			var pods []agentstest.Pod
			for n := range nodes {
				node := fmt.Sprintf("node-%03d", n)
				agent := httptest.NewServer(&fakeAgent{node: node})
				b.Cleanup(agent.Close)
				pods = append(pods, agentOn(node, agent.URL))
			}
			server := agentstest.Start(b, pods...)
			server.Refuse(func(r *http.Request) int {
				if strings.Contains(r.URL.Path, "/proxy/") {
					return http.StatusServiceUnavailable
				}
				if strings.HasSuffix(r.URL.Path, "/portforward") {
					time.Sleep(delay)
				}
				return 0
			})
			for b.Loop() {
				result := atNoon(b, server, "nodes", "-o", "json")
				if result.code != ExitOK {
					b.Fatalf("exit %d: %s", result.code, result.stderr)
				}
				var list struct{ Items []map[string]any }
				if err := json.Unmarshal([]byte(result.stdout), &list); err != nil || len(list.Items) != nodes {
					b.Fatalf("%d nodes, %v", len(list.Items), err)
				}
			}
		})
	}
}
