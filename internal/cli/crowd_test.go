package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	crowdNodes = 1000
	// crowdMemory is the maximum memory for the responses of crowdNodes agents. All decoded responses together need
	// more memory.
	crowdMemory = 12 << 20
	// crowdSlow is the number of slow agents. Slow agents respond only after the command has queried all of them. So a
	// command that queries fewer agents at the same time gets no response from the slow agents.
	crowdSlow       = agents.AtOnce
	crowdRegistries = 40
	crowdBuckets    = 16
)

// crowd contains the agents of a large cluster. Some agents are slow, old or dead.
type crowd struct {
	totals, evidence, records []byte

	mu          sync.Mutex
	now, most   int // number of requests in progress, and the maximum of this number
	slow        int
	everySlow   chan struct{} // closed after the command has queried all slow agents
	before, use int64         // live heap at the start, and its growth near the end
}

// agentOfCrowd is the agent with the number n.
type agentOfCrowd struct {
	*crowd
	n int
}

// The functions below decide by an agent's number how the agent responds.
func dead(n int) bool   { return n%100 == 7 }                  // the agent refuses connections
func broken(n int) bool { return n%100 == 9 }                  // the agent stops in the middle of its response
func hung(n int) bool   { return n == 50 }                     // the agent never responds to the command nodes
func slow(n int) bool   { return 20 <= n && n < 20+crowdSlow } // the agent responds late
func old(n int) bool    { return n%50 == 3 }                   // the version of the agent does not support totals

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{everySlow: make(chan struct{})}
	totals := api.TotalsRecord{Ended: 10, Started: 10, Phases: []api.PhaseTotals{{Phase: timeline.PhaseNetwork,
		Length: api.Seconds(5 * time.Second), Steps: 10}}, Merged: []timeline.Phase{}}
	for i := range crowdRegistries {
		r := api.RegistryTotals{Registry: fmt.Sprintf("registry-%02d.example", i),
			PullTotals: api.PullTotals{Bytes: 1 << 20}}
		for bucket := range crowdBuckets {
			length := api.Seconds(time.Duration(bucket+1) * 1_234_567_891)
			r.Durations = append(r.Durations, api.DurationBucket{Bucket: bucket, Pulls: 1, Length: length})
			r.Pulls, r.Length = r.Pulls+1, r.Length+length
		}
		totals.Registries = append(totals.Registries, r)
	}
	// An old agent has one start-up with one phase.
	record := startUp("web", "n", "", time.Minute, phase{timeline.PhaseNetwork, 0.5})
	record = pulled(record, "registry-00.example", 2, 1)
	for target, value := range map[*[]byte]any{
		&c.totals: totals, &c.records: api.PodList{Items: []api.Record{record}},
		&c.evidence: api.EvidenceRecord{Parts: []api.PartRecord{{Part: "cri", Up: true}}},
	} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		*target = text
	}
	return c
}

func (c *crowd) server(t *testing.T) *agentstest.APIServer {
	t.Helper()
	var pods []agentstest.Pod
	for n := range crowdNodes {
		pod := agentOn(fmt.Sprintf("node-%03d", n), "")
		if !dead(n) {
			pod.Handler = agentOfCrowd{c, n}
		}
		pods = append(pods, pod)
	}
	return agentstest.Start(t, pods...)
}

// ServeHTTP implements http.Handler.
func (a agentOfCrowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v1/")
	if hung(a.n) && path == "node" {
		<-r.Context().Done()
		return
	}
	a.enter()
	code, text := http.StatusOK, []byte(nil)
	switch {
	case path == "totals" && old(a.n):
		code, text = http.StatusNotFound, []byte(`{"error":"not_found","reason":"no such path: GET / lists all paths"}`)
	case path == "totals":
		a.wait(r)
		text = a.crowd.totals
	case path == "pods":
		text = a.records
	case path == "evidence":
		text = a.evidence
	case path == "node":
		text = fmt.Appendf(nil, `{"node":"node-%03d","pods":{"states":{}},"starting":[]}`, a.n)
	}
	if broken(a.n) {
		text = text[:len(text)/2]
	}
	a.leave() // before the response: after the response, the client can send the next request
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

func (c *crowd) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now++
	c.most = max(c.most, c.now)
}

func (c *crowd) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
}

// wait delays the responses of slow agents. Near the end of the command, wait measures the live heap.
func (a agentOfCrowd) wait(r *http.Request) {
	if slow(a.n) {
		a.mu.Lock()
		if a.crowd.slow++; a.crowd.slow == crowdSlow {
			close(a.everySlow)
		}
		a.mu.Unlock()
		select {
		case <-a.everySlow:
		case <-r.Context().Done():
		}
	}
	if a.n == crowdNodes-2 {
		use := heap() - a.before
		a.mu.Lock()
		a.use = max(a.use, use)
		a.mu.Unlock()
	}
}

// TestThousandNodes runs the commands that query all agents on a large cluster.
func TestThousandNodes(t *testing.T) {
	responding, withTotals := 0, 0
	for n := range crowdNodes {
		if dead(n) || broken(n) {
			continue
		}
		responding++
		if !old(n) {
			withTotals++
		}
	}
	for command, check := range map[string]func(t *testing.T, items []map[string]any){
		"nodes": func(t *testing.T, items []map[string]any) {
			t.Helper()
			if len(items) != responding-1 { // one agent is hung
				t.Errorf("%d nodes, want %d", len(items), responding-1)
			}
			for _, item := range items {
				if item["factor"] != 1.0 {
					t.Fatalf("the node is as fast as all nodes: %v", item)
				}
			}
		},
		"registries": func(t *testing.T, items []map[string]any) {
			t.Helper()
			if len(items) != crowdRegistries || items[0]["nodes"] != float64(responding) ||
				items[0]["pulls"] != float64(withTotals*crowdBuckets+responding-withTotals) ||
				items[1]["nodes"] != float64(withTotals) || items[1]["pulls"] != float64(withTotals*crowdBuckets) {
				t.Errorf("%d registries, %v", len(items), items[:2])
			}
		},
	} {
		t.Run(command, func(t *testing.T) {
			c := newCrowd(t)
			server := c.server(t)
			c.before = heap()
			got := atNoon(t, server, command, "-o", "json", "--timeout=10m")
			var list struct{ Items []map[string]any }
			if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || got.code != ExitPartial {
				t.Fatalf("exit %d, %v\n%s", got.code, err, got.stderr)
			}
			check(t, list.Items)
			failed := crowdNodes - responding
			if command == "nodes" {
				failed++
			}
			c.checkErrors(t, got.stderr, failed)
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.most < agents.AtOnce {
				t.Errorf("%d agents queried at once, want at least %d", c.most, agents.AtOnce)
			}
			t.Logf("%d KiB of memory, %d agents at once", c.use>>10, c.most)
			if c.use <= 0 || c.use > crowdMemory {
				t.Errorf("the command used %d bytes for the responses, want at most %d", c.use, crowdMemory)
			}
		})
	}
}

// checkErrors requires one line for each of the first maxFailures agents that did not respond, and the number of the
// remaining agents.
func (c *crowd) checkErrors(t *testing.T, stderr string, failed int) {
	t.Helper()
	if named := strings.Count(stderr, "node node-"); named != maxFailures {
		t.Errorf("%d agents are named, want %d:\n%s", named, maxFailures, stderr)
	}
	if more := fmt.Sprintf("%d more agents did not respond", failed-maxFailures); !strings.Contains(stderr, more) {
		t.Errorf("want %q:\n%s", more, stderr)
	}
}

// TestAgentsWithoutTotals has agents of a version without totals, and users without permission to get totals. The
// output must be the same as with totals.
func TestAgentsWithoutTotals(t *testing.T) {
	cluster := shop()
	cluster[0].records = append(cluster[0].records,
		pulled(startUp("before-0", "worker-1", "", 3*time.Hour, phase{timeline.PhasePull, 5}), "quay.example", 5, 40))
	for _, command := range []string{"nodes", "registries"} {
		want := atNoon(t, clusterOf(t, cluster), command, "-o", "json")
		want.must(t, ExitOK, `"factor"`, "")
		for _, reason := range []string{"not_found", "forbidden"} {
			limited := slices.Clone(cluster)
			for i := range limited {
				agent := *cluster[i]
				agent.refusal = &api.Problem{Error: reason, Reason: "no totals for you"}
				limited[i] = &agent
			}
			server := clusterOf(t, limited)
			if got := atNoon(t, server, command, "-o", "json"); got != want {
				t.Errorf("%s, %s: exit %d\n%s%s\nwant\n%s", command, reason, got.code, got.stderr, got.stdout,
					want.stdout)
			}
			since := url.QueryEscape(noon.Add(-time.Hour).Format(time.RFC3339))
			if asked := strings.Join(server.Asked(), "\n"); !strings.Contains(asked, "/pods?since="+since) {
				t.Errorf("%s, %s: the records were not read:\n%s", command, reason, asked)
			}
		}
	}
}
