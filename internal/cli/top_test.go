package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
	"github.com/podlapse/podlapse/pkg/timeline"
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
	l := newLiveAgents(agentQuery{}, topConfig{})
	l.updateStreams(ctx, []agents.Agent{agentCalled("before")})
	l.end(<-l.ended)
	l.updateStreams(ctx, []agents.Agent{agentCalled("after")})
	if got := fmt.Sprint(l.board.Agents()); got != "[after]" {
		t.Errorf("follows %s, want [after]", got)
	}
	stop()
	l.wait()
}

// TestTopRowsFitNarrowTerminal checks that the table of top -w fits on narrow terminals, with and without nodes.
func TestTopRowsFitNarrowTerminal(t *testing.T) {
	starting := topRow{Record: api.Record{Namespace: "shop", Name: "cart-1", State: timeline.StateStarting,
		Node: "gke-fleet-default-pool-1a2b3c4d-x5y6", Total: api.Seconds(94 * time.Second), Reason: "ImagePullBackOff",
		Phases: []api.PhaseRecord{{Phase: timeline.PhasePull, Cause: timeline.CauseRegistry, Container: "app",
			Length: api.Seconds(94 * time.Second), Open: true}}}}
	over := starting
	over.State, over.Phases, over.Verdict = timeline.StateReady, nil, "94.5 s to ready: 90 s pulling from quay.example"
	for _, nodes := range []bool{true, false} {
		v := topRows(nodes, func() time.Time { return noon })
		for width := minWidth; width <= 120; width++ {
			text := v.table([]topRow{starting, over}, listOutput{}, terminal.Page{Columns: width, Fit: true}, true)
			for line := range strings.Lines(text) {
				if cells := terminal.Cells(strings.TrimSuffix(line, "\n")); cells > width {
					t.Fatalf("%d columns: a line has %d cells: %q", width, cells, line)
				}
			}
		}
	}
}

func TestKeys(t *testing.T) {
	in, console := io.Pipe()
	typed := keys(in)
	for _, text := range []string{"\x1bOQ", "aq"} { // the function key F2, and two other keys
		if _, err := io.WriteString(console, text); err != nil {
			t.Fatal(err)
		}
	}
	if got := string([]byte{<-typed, <-typed}); got != "aq" {
		t.Errorf("typed %q", got)
	}
	console.Close()
}

// TestTopOfNamespace checks that top does not count pulls of other namespaces, and names the namespace in its hint.
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
		must(t, ExitOK, "0 starting, 0 started recently, 2 pulls in progress\n\nno pods are starting on a node\n"+
			"pods without a node: kubectl get pods -n shop --field-selector=spec.nodeName=", "")
	runs(t, AgentProgram, environment{}, "top", "--server", agent.URL).
		must(t, ExitOK, "started recently, 3 pulls in progress", "")
	runs(t, AgentProgram, environment{}, "explain", "--server", agent.URL, "-n", "shop").
		must(t, ExitOK, "no known pods in namespace shop", "")
}

// interrupting is standard output that interrupts the command after the first write, in the same way as Ctrl-C.
type interrupting struct {
	text      bytes.Buffer
	interrupt context.CancelFunc
}

func (i *interrupting) Write(text []byte) (int, error) {
	defer i.interrupt()
	return i.text.Write(text)
}

// TestTopWatch checks that top -w prints the columns of top: for a pod that is starting, its current phase, the time in
// this phase and its pull; for a completed start-up, its duration and its verdict.
func TestTopWatch(t *testing.T) {
	server := clusterOf(t, shop())
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	stdout := interrupting{interrupt: interrupt}
	var stderr bytes.Buffer
	env := environment{"KUBECONFIG": agentstest.Kubeconfig(t, server.URL)}
	program := programOf(PluginProgram)
	program.Now = func() time.Time { return noon }
	code := program.Run(ctx, strings.Fields("top -w --node worker-3 --sort-by for"), env.get, &stdout, &stderr)
	var rows []string
	for line := range strings.Lines(stdout.text.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"POD STATE AGE PHASE FOR CAUSE WHERE TOOK VERDICT",
		"shop/cart-1 starting 1m34s pull 1m34s registry app, 31.0 of 118.0 MiB (26 %) from quay.example " +
			"at 0.5 MiB/s, download ends in about 2m54s - -",
		"shop/web-7d4b9-x2x8c ready - - - - - 4.9 s 4.9 s to ready; ±0.9 s",
	}
	if code != ExitOK || len(rows) < len(want) || strings.Join(rows[:len(want)], "\n") != strings.Join(want, "\n") {
		t.Errorf("exit %d\n%s%s\nwant\n%s", code, stdout.text.String(), stderr.String(), strings.Join(want, "\n"))
	}
}

// TestTopSortsRecords checks the key "for" in the output of records.
func TestTopSortsRecords(t *testing.T) {
	agent := &fakeAgent{node: "worker-1", records: []api.Record{
		startUp("over", "worker-1", "", time.Minute, phase{timeline.PhasePull, 900}),
		startUp("old", "worker-1", "", 0, phase{timeline.PhaseVolumes, 500}, phase{timeline.PhaseNetwork, 17}),
		startUp("stuck", "worker-1", "", 0, phase{timeline.PhaseVolumes, 40}, phase{timeline.PhasePull, 185}),
	}}
	got := atNoon(t, clusterOf(t, []*fakeAgent{agent}), "top", "-o", "name", "--sort-by=for")
	got.must(t, ExitOK, "pod/stuck\npod/old\npod/over\n", "")
}
