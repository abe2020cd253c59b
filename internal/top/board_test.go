package top

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

var update = flag.Bool("update", false, "rewrite testdata")

func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	got, path := strings.Join(lines, "\n")+"\n", filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s\nwant:\n%s", path, got, want)
	}
}

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func starting(
	node, name string, total time.Duration, phase timeline.Phase, container string, inPhase time.Duration,
) client.Event {
	return client.Event{Kind: client.KindPod, Record: api.Record{
		ID: node + name, Namespace: "shop", Name: name, Node: node, State: timeline.StateStarting,
		Total: api.Seconds(total),
		Phases: []api.PhaseRecord{
			{Phase: timeline.PhaseScheduling, Length: api.Seconds(total - inPhase)},
			{Phase: phase, Cause: timeline.CauseOf(phase), Container: container, Length: api.Seconds(inPhase),
				Open: true},
		},
	}}
}

func over(node, name string, state timeline.State, total time.Duration, at time.Time, verdict string) client.Event {
	return client.Event{Kind: client.KindPod, Record: api.Record{
		ID: node + name, Namespace: "shop", Name: name, Node: node, State: state, Total: api.Seconds(total),
		SettledAt: api.InstantOf(at), Verdict: verdict,
	}}
}

func open(b *Board, agent, node string, events ...client.Event) {
	b.Join(agent, node)
	for _, e := range append([]client.Event{{Kind: client.KindOpen}, {Kind: client.KindReset}}, events...) {
		b.Take(agent, e, noon)
	}
}

// cluster returns a board with two nodes on which pods start, and one unreachable node.
func cluster() *Board {
	b := NewBoard(time.Hour, Layout{})
	open(b, "agent-a", "node-a",
		starting("node-a", "web-0", 8*time.Second, timeline.PhasePull, "app", 5*time.Second),
		starting("node-a", "web-1", 7*time.Second, timeline.PhasePullQueue, "app", 6*time.Second),
		over("node-a", "cache-0", timeline.StateReady, 2500*time.Millisecond, noon.Add(-time.Minute),
			"2.5 s to ready: 1.0 s volumes; ±0.1 s"),
		client.Event{Kind: client.KindPulls, Pulls: []api.LivePullRecord{
			{Namespace: "shop", Pod: "web-0", Container: "app", Registry: "registry.example",
				Outcome: imagepull.OutcomePulling, State: "pulling", DoneBytes: 5 << 20, TotalBytes: 20 << 20},
			{Namespace: "shop", Pod: "web-1", Container: "app", Registry: "registry.example",
				Outcome: imagepull.OutcomePulling, State: "queued"},
		}})
	crash := starting("node-b", "crash", 10*time.Minute, timeline.PhaseCrashBackoff, "app", 3*time.Minute)
	crash.Record.Phases[1].Attempt, crash.Record.Reason = 4, "CrashLoopBackOff"
	open(b, "agent-b", "node-b", crash,
		over("node-b", "broken", timeline.StateFailed, time.Second, noon.Add(-2*time.Second),
			"failed after 1.0 s: Evicted"))
	b.Join("agent-c", "node-c")
	b.Lose("agent-c", errors.New("connection refused\x1b[2J"), noon)
	return b
}

func TestView(t *testing.T) {
	later := noon.Add(2 * time.Second) // start-ups in progress are longer at this time
	golden(t, "cluster.txt", cluster().View(later, terminal.Page{}, 0))
	golden(t, "cluster-90-columns.txt", cluster().View(later, terminal.Page{Columns: 90, Fit: true, Color: true}, 40))
	golden(t, "cluster-12-lines.txt", cluster().View(later, terminal.Page{Columns: 90, Fit: true}, 12))
	golden(t, "nobody.txt", NewBoard(time.Hour, Layout{}).View(later, terminal.Page{}, 0))
	one := NewBoard(time.Hour, Layout{})
	open(one, "", "", starting("node-a", "web-0", time.Second, timeline.PhaseVolumes, "", time.Second))
	wide := cluster()
	wide.layout = Layout{Wide: true, SortBy: "phase", NoHeaders: true}
	golden(t, "cluster-wide.txt", wide.View(later, terminal.Page{}, 0))
	golden(t, "one-node.txt", one.View(later, terminal.Page{}, 0))
}

// TestHeadlineOfUnknownNode uses agents that have not reported a start-up yet. With --server, only a start-up contains
// the name of the node.
func TestHeadlineOfUnknownNode(t *testing.T) {
	b := NewBoard(time.Hour, Layout{})
	for _, want := range []string{"0 starting, 0 started recently", "2 nodes: 0 starting, 0 started recently"} {
		open(b, want, "")
		if got := b.View(noon, terminal.Page{}, 0)[0]; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestHintOfUnboundPods checks that a reader can copy the whole command, and that the board fits on a screen. The
// command can have its own line. Only a screen, which cannot wrap lines, breaks it.
func TestHintOfUnboundPods(t *testing.T) {
	const long = "kubectl get pods -n a-namespace-with-a-long-name --field-selector=spec.nodeName="
	for _, test := range []struct {
		namespace string
		page      terminal.Page
		want      []string
	}{
		{"", terminal.Page{}, []string{"pods without a node: kubectl get pods -A --field-selector=spec.nodeName="}},
		{"", terminal.Page{Columns: 60, Fit: true}, []string{"pods without a node:",
			"kubectl get pods -A --field-selector=spec.nodeName="}},
		{"shop", terminal.Page{Columns: 80, Fit: true}, []string{
			"pods without a node: kubectl get pods -n shop --field-selector=spec.nodeName="}},
		{"a-namespace-with-a-long-name", terminal.Page{Columns: 60, Fit: true}, []string{"pods without a node:", long}},
		{"a-namespace-with-a-long-name", terminal.Page{Columns: 60, Fit: true, Cut: true}, []string{
			"pods without a node:", "kubectl get pods -n a-namespace-with-a-long-name",
			"  --field-selector=spec.nodeName="}},
	} {
		b := NewBoard(time.Hour, Layout{Namespace: test.namespace})
		var ready []client.Event
		for i := range 30 {
			ready = append(ready, over("node-a", fmt.Sprint("web-", i), timeline.StateReady, time.Second, noon, ""))
		}
		open(b, "agent", "node-a", ready...)
		lines := b.View(noon, test.page, 24)
		if got := lines[3 : 3+len(test.want)]; !slices.Equal(got, test.want) {
			t.Errorf("namespace %q, %d columns: got %q, want %q", test.namespace, test.page.Columns, got, test.want)
		}
		if last := lines[len(lines)-1]; len(lines) > 24 || !strings.HasPrefix(last, "… and ") {
			t.Errorf("%d lines, the last is %q, want at most 24 and the number of omitted rows", len(lines), last)
		}
	}
}

func TestBoardFollows(t *testing.T) {
	b := cluster()
	shows := func(want ...string) {
		t.Helper()
		text := strings.Join(b.View(noon, terminal.Page{}, 0), "\n")
		for _, w := range want {
			without, hidden := strings.CutPrefix(w, "!")
			if strings.Contains(text, without) == hidden {
				t.Errorf("want %s in\n%s", w, text)
			}
		}
	}
	key := func(name string) api.PodKey { return api.PodKey{ID: "node-a" + name} }
	shows("3 starting", "shop/web-0", "queued for registry.example", "5.0 of 20.0 MiB (25 %) from registry.example",
		"app #5, CrashLoopBackOff")
	b.Take("agent-a", client.Event{Kind: client.KindPulls, Pulls: []api.LivePullRecord{{Namespace: "shop", Pod: "web-1",
		Container: "app", Registry: "registry.example", Outcome: imagepull.OutcomePulling}}}, noon)
	shows("app, queued or pulling from registry.example", "!queued for")
	b.Take("agent-a", over("node-a", "web-0", timeline.StateReady, 9*time.Second, noon, "9.0 s to ready"), noon)
	b.Take("agent-a", client.Event{Kind: client.KindGone, Pod: key("web-1")}, noon)
	b.Take("agent-a", client.Event{Kind: client.KindGone, Pod: key("cache-0")}, noon)
	b.Take("agent-a", client.Event{Kind: client.KindPulls}, noon)
	shows("1 starting, 4 started recently", "shop/web-0    ready", "shop/web-1    deleted", "shop/cache-0  ready",
		"!pulls in progress")
	b.Take("agent-a", client.Event{Kind: client.KindOut, Pod: key("web-0")}, noon)
	b.Take("agent-a", client.Event{Kind: client.KindBroken, Err: errors.New("eof")}, noon)
	shows("!web-0", "no data from node-a: eof", "web-1")
	b.Take("agent-a", client.Event{Kind: client.KindPulls, Pulls: make([]api.LivePullRecord, 1)}, noon)
	b.Take("agent-a", client.Event{Kind: client.KindOpen}, noon)
	b.Take("agent-a", client.Event{Kind: client.KindReset}, noon)
	shows("!node-a: eof", "!web-1", "!pulls in progress")
	b.Leave("agent-b")
	b.Take("agent-b", client.Event{Kind: client.KindPod}, noon) // this event arrives after the agent left the board
	shows("0 starting, 0 started recently", "!node-b")
	if b.over != 0 || b.begun != 0 {
		t.Errorf("%d over, %d begun", b.over, b.begun)
	}
}

// TestDisconnectedAgentIsShownAsOld expects that the board shows the last data of an unreachable agent and the
// data's age, until data arrives again.
func TestDisconnectedAgentIsShownAsOld(t *testing.T) {
	b := NewBoard(time.Hour, Layout{})
	open(b, "a", "node-a", starting("node-a", "web-0", 8*time.Second, timeline.PhasePull, "app", 5*time.Second))
	for range 2 { // the second try fails as well
		b.Take("a", client.Event{Kind: client.KindBroken, Err: errors.New("eof")}, noon.Add(2*time.Second))
	}
	later := noon.Add(time.Minute)
	text := strings.Join(b.View(later, terminal.Page{}, 0), "\n")
	if !strings.Contains(text, "shop/web-0  10.0 s  pull   7.0 s  registry  as of 58.0 s ago, app") {
		t.Errorf("%s", text)
	}
	b.Take("a", client.Event{Kind: client.KindOpen}, later)
	if text := strings.Join(b.View(later, terminal.Page{}, 0), "\n"); !strings.Contains(text,
		"shop/web-0  1m08s  pull   1m05s  registry  app") {
		t.Errorf("%s", text)
	}
}

// TestLongestInPhaseFirst uses an old pod that has just entered its phase, and a younger pod that has been in a phase
// with a later name for a long time.
func TestLongestInPhaseFirst(t *testing.T) {
	b := NewBoard(time.Hour, Layout{SortBy: "for", NoHeaders: true})
	open(b, "a", "node-a", starting("node-a", "old", 9*time.Minute, timeline.PhaseCrashBackoff, "app", 17*time.Second),
		starting("node-a", "stuck", 4*time.Minute, timeline.PhaseVolumes, "", 185*time.Second),
		over("node-a", "earlier", timeline.StateReady, time.Hour, noon.Add(-time.Minute), ""),
		over("node-a", "latest", timeline.StateReady, time.Second, noon, ""))
	var got []string
	for _, line := range b.View(noon, terminal.Page{}, 0) {
		got = append(got, strings.Fields(line)[0])
	}
	if want := "shop/stuck shop/old shop/latest shop/earlier"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

// TestUnknownLengthsAreLast sorts both tables by duration. A pod that was ready before the agent started can have an
// error bound that is larger than its duration.
func TestUnknownLengthsAreLast(t *testing.T) {
	b := NewBoard(time.Hour, Layout{SortBy: "duration", NoHeaders: true})
	imprecise := func(e client.Event, accuracy time.Duration) client.Event {
		e.Record.TotalError = api.Seconds(accuracy)
		return e
	}
	open(b, "a", "node-a",
		imprecise(starting("node-a", "late", time.Hour, timeline.PhaseVolumes, "", time.Second), 2*time.Hour),
		starting("node-a", "young", time.Second, timeline.PhaseVolumes, "", time.Second),
		imprecise(over("node-a", "before", timeline.StateReady, 317*time.Second, noon, ""), 318*time.Second),
		over("node-a", "fast", timeline.StateReady, time.Second, noon, ""),
		imprecise(over("node-a", "slow", timeline.StateReady, 9*time.Second, noon, ""), time.Second))
	var got []string
	for _, line := range b.View(noon, terminal.Page{}, 0) {
		got = append(got, strings.Fields(line)[0])
	}
	if want := "shop/young shop/late shop/slow shop/fast shop/before"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

// TestOldStartUpsAreNotShown expects that a completed start-up disappears from the board after the duration "since".
func TestOldStartUpsAreNotShown(t *testing.T) {
	b := NewBoard(10*time.Minute, Layout{})
	open(b, "a", "node-a", over("node-a", "web-0", timeline.StateReady, time.Second, noon, "1.0 s to ready"))
	for after, want := range map[time.Duration]string{10 * time.Minute: "1 started recently",
		10*time.Minute + time.Second: "0 started recently"} {
		text := strings.Join(b.View(noon.Add(after), terminal.Page{}, 0), "\n")
		if !strings.Contains(text, want) || strings.Contains(text, "web-0") != (want[0] == '1') {
			t.Errorf("after %s want %s in\n%s", after, want, text)
		}
	}
}

// TestBoardIsBounded adds more start-ups than a board can hold: first completed start-ups, then start-ups in progress.
func TestBoardIsBounded(t *testing.T) {
	b := NewBoard(time.Hour, Layout{})
	open(b, "a", "node-a")
	for i := range 3 * maxOver {
		b.Take("a", over("node-a", fmt.Sprint("over-", i), timeline.StateReady, 0, noon, ""), noon)
	}
	b.Take("a", over("node-a", "latest", timeline.StateReady, 0, noon.Add(time.Second), ""), noon)
	for i := range maxStarting + 10 {
		b.Take("a", starting("node-a", fmt.Sprint("new-", i), time.Second, timeline.PhasePull, "", 0), noon)
	}
	pulls := make([]api.LivePullRecord, 3*maxPulls)
	for i := range pulls {
		pulls[i].Pod = fmt.Sprint(i)
	}
	b.Take("a", client.Event{Kind: client.KindPulls, Pulls: pulls}, noon)
	if len(b.agents["a"].rows) > maxStarting+2*maxOver || len(b.agents["a"].pulls) > maxPulls {
		t.Errorf("%d rows, %d pulls", len(b.agents["a"].rows), len(b.agents["a"].pulls))
	}
	lines := b.View(noon, terminal.Page{Columns: 150, Fit: true}, 24)
	text := strings.Join(lines, "\n")
	if len(lines) != 24 || !strings.Contains(text, "not all are shown") || !strings.Contains(text, "latest") {
		t.Errorf("%d lines\n%s", len(lines), text)
	}
}

// TestViewOfHostileRecords checks that an agent's texts cannot control the terminal, whatever their size.
func TestViewOfHostileRecords(t *testing.T) {
	evil := strings.Repeat("<script>\x1b[2J\u202e\u0301\n漢", 1<<15)
	b := NewBoard(time.Hour, Layout{})
	b.Join("x", evil)
	event := starting(evil, evil, time.Second, timeline.Phase(evil), evil, 0)
	event.Record.Namespace, event.Record.Reason = evil, evil
	b.Take("x", event, noon)
	b.Take("x", over(evil, "over", timeline.State(evil), -1, noon.Add(time.Hour), evil), noon)
	b.Take("x", client.Event{Kind: client.KindPulls,
		Pulls: []api.LivePullRecord{{Namespace: evil, Pod: evil, Container: evil, Registry: evil,
			State: "pulling"}}}, noon)
	b.Lose("x", errors.New(evil), noon)
	for columns := range 200 {
		for _, lines := range []int{1, 3, 24} {
			view := b.View(noon, terminal.Page{Columns: columns, Fit: true, Cut: true}, lines)
			if len(view) > lines {
				t.Fatalf("%d lines of %d", len(view), lines)
			}
			for _, line := range view {
				if terminal.Clean(line) != line {
					t.Fatalf("%q", line)
				}
				if terminal.Cells(line) > columns {
					t.Fatalf("%d columns: %q", columns, line)
				}
			}
		}
	}
}
