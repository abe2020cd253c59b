package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/internal/tally"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// noon is the current time for the commands in these tests.
var noon = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

// fakeAgent is the agent of one node. fakeAgent supports only these filters: the namespace, the name, the owner, the
// earliest end, and a label selector with one label.
type fakeAgent struct {
	node    string
	records []api.Record
	pulls   api.PullList
	down    string            // name of a source that is down
	labels  map[string]string // one label of each pod, by the pod's name
	skew    *api.SkewRecord
	refusal *api.Problem // error that the agent sends instead of totals
	startUp *api.NodeStartUpRecord
	began   time.Time // earliest beginning of the sums; zero for the beginning of the requested period
}

// ServeHTTP implements http.Handler.
func (f *fakeAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v1/")
	var response any
	switch {
	case path == "pods":
		response = api.PodList{Items: f.selected(r)}
	case strings.HasPrefix(path, "pods/"):
		i := slices.IndexFunc(f.records, func(r api.Record) bool { return path == "pods/"+r.Namespace+"/"+r.Name })
		if i < 0 {
			w.WriteHeader(http.StatusNotFound)
			response = api.Problem{Error: "not_found", Reason: "no such pod is known on this node"}
			break
		}
		response = f.records[i]
	case path == "pulls":
		response = f.pulls
	case path == "node":
		response = f.summary()
	case path == "node/startup" && f.startUp != nil:
		response = f.startUp
	case path == "node/startup":
		w.WriteHeader(http.StatusNotFound)
		response = api.Problem{Error: "not_found", Reason: "start the agent with --node-startup=on"}
	case (path == "totals" || path == "report") && f.refusal != nil:
		code := http.StatusNotFound
		switch f.refusal.Error {
		case "forbidden":
			code = http.StatusForbidden
		case "unavailable":
			code = http.StatusServiceUnavailable
		}
		w.WriteHeader(code)
		response = f.refusal
	case path == "totals":
		response = f.totals(r)
	case path == "report":
		response = f.sums(r)
	case path == "evidence":
		evidence := api.EvidenceRecord{ClockSkew: f.skew, Parts: []api.PartRecord{{Part: "pod_watch", Up: true}}}
		if f.down != "" {
			evidence.Parts = append(evidence.Parts, api.PartRecord{Part: f.down})
		}
		for _, r := range f.records {
			evidence.Add(api.Quality{Missing: len(r.Missing) > 0}, r.Total.Duration())
		}
		response = evidence
	default:
		w.WriteHeader(http.StatusNotFound)
		response = api.Problem{Error: "not_found", Reason: r.URL.Path}
	}
	_ = json.NewEncoder(w).Encode(response)
}

func (f *fakeAgent) selected(r *http.Request) []api.Record {
	query, items := r.URL.Query(), []api.Record{}
	kind, owner, _ := strings.Cut(query.Get("owner"), "/")
	since, _ := time.Parse(time.RFC3339Nano, query.Get("since")) // zero without a time
	for _, record := range f.records {
		begin, prefix := strings.CutSuffix(query.Get("name"), "*")
		if n := query.Get("namespace"); n != "" && n != record.Namespace ||
			owner != "" && record.Owner != (api.OwnerRecord{Kind: kind, Name: owner}) ||
			prefix && !strings.HasPrefix(record.Name, begin) ||
			!record.SettledAt.IsZero() && record.SettledAt.Before(since) ||
			query.Get("labelSelector") != "" && query.Get("labelSelector") != f.labels[record.Name] {
			continue
		}
		items = append(items, record)
	}
	return items
}

func (f *fakeAgent) totals(r *http.Request) api.TotalsRecord {
	var window factor.TimeWindow
	for name, at := range map[string]*time.Time{"since": &window.Since, "until": &window.Until} {
		if text := r.URL.Query().Get(name); text != "" {
			*at, _ = time.Parse(time.RFC3339Nano, text)
		}
	}
	totals := factor.NewTotals(f.node, window)
	for _, record := range f.records {
		totals.Add(record)
	}
	return totals.Record()
}

// sums counts whole hours, like an agent.
func (f *fakeAgent) sums(r *http.Request) api.ReportRecord {
	since, _ := time.Parse(time.RFC3339Nano, r.URL.Query().Get("since"))
	since = since.Truncate(time.Hour)
	sums := tally.NewSums(f.node)
	for _, record := range f.records {
		if record.SettledAt.IsZero() || !record.SettledAt.Before(since) {
			sums.Add(record)
		}
	}
	report := sums.Record()
	if f.began.After(since) {
		since = f.began
	}
	report.Since, report.At = api.InstantOf(since), api.InstantOf(noon)
	return report
}

func (f *fakeAgent) summary() api.NodeRecord {
	summary := api.NodeRecord{Node: f.node, Agent: api.AgentRecord{Version: "v0.2.0"},
		Pods: api.PodCounts{States: map[timeline.State]int{}}, Starting: []api.StartingRecord{}}
	for _, r := range f.records {
		summary.Pods.States[r.State]++
		if last := r.Phases[len(r.Phases)-1]; r.State == timeline.StateStarting {
			summary.Starting = append(summary.Starting,
				api.StartingRecord{Phase: last.Phase, Cause: last.Cause, Pods: 1, Oldest: last.Length})
		}
	}
	return summary
}

// phase is a phase with its duration in seconds.
type phase struct {
	name    timeline.Phase
	seconds float64
}

// startUp returns a start-up that ended at noon minus ago. If ago is 0, the start-up is in progress.
func startUp(name, node, owner string, ago time.Duration, phases ...phase) api.Record {
	kind, ownerName, _ := strings.Cut(owner, "/")
	r := api.Record{
		ID: node + name, Namespace: "shop", Name: name, UID: name, Node: node, State: timeline.StateReady,
		Owner: api.OwnerRecord{Kind: kind, Name: ownerName}, TotalError: api.Seconds(900 * time.Millisecond),
	}
	at := time.Duration(0)
	for _, p := range phases {
		length := inMilliseconds(p.seconds)
		r.Phases = append(r.Phases, api.PhaseRecord{
			Phase: p.name, Cause: timeline.CauseOf(p.name), Length: api.Seconds(length),
			StartAt: api.InstantOf(
				noon.Add(at),
			), EndAt: api.InstantOf(noon.Add(at + length)), Container: containerOf(p.name),
		})
		at += length
	}
	r.Total = api.Seconds(at)
	r.CreatedAt = api.InstantOf(noon.Add(-ago - at))
	for i := range r.Phases {
		start := r.Phases[i].StartAt.Sub(noon)
		r.Phases[i].StartAt = api.InstantOf(r.CreatedAt.Add(start))
		r.Phases[i].EndAt = api.InstantOf(r.Phases[i].StartAt.Add(r.Phases[i].Length.Duration()))
	}
	if last := r.Phases[len(r.Phases)-1]; last.Phase == timeline.PhaseReadinessProbe {
		r.Milestones = []api.MilestoneRecord{{Milestone: "running", Container: "app", Earliest: last.StartAt,
			Latest: last.StartAt}, {Milestone: "containers_ready", Earliest: last.EndAt, Latest: last.EndAt}}
		r.Probes = []api.ProbeRecord{{Container: "app", Kind: timeline.ProbeReadiness,
			Period: api.Seconds(time.Second), Timeout: api.Seconds(time.Second), SuccessThreshold: 1}}
	}
	if ago == 0 {
		r.State = timeline.StateStarting
		r.Phases[len(r.Phases)-1].Open = true
		return r
	}
	r.SettledAt = api.InstantOf(noon.Add(-ago))
	r.Verdict = timeline.SecondsText(at, 1) + " to ready; ±0.9 s"
	return r
}

// inMilliseconds converts a decimal number of seconds without the error of the float64.
func inMilliseconds(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}

func containerOf(phase timeline.Phase) string {
	switch phase {
	case timeline.PhasePull, timeline.PhaseContainerStart, timeline.PhaseReadinessProbe:
		return "app"
	}
	return ""
}

// pulled adds a pull to a record. The duration is in seconds, and the size is in MiB.
func pulled(r api.Record, registry string, seconds float64, size int64) api.Record {
	length := api.Seconds(inMilliseconds(seconds))
	finished := r.CreatedAt.Add(r.Total.Duration())
	r.Pulls = append(r.Pulls, api.PullRecord{
		Container: "app", Kind: timeline.KindMain, Image: registry + "/shop/web:2", Registry: registry,
		Outcome: imagepull.OutcomeDownloaded, Pull: &length, Error: new(api.Seconds(time.Millisecond)),
		FinishedAt: api.InstantOf(finished), SizeBytes: size << 20, Download: &api.DownloadRecord{Bytes: size << 20},
		Sized: true,
	})
	return r
}

// shop returns the agents of a cluster of three nodes. The network plugin of node worker-2 is slow, and the registry
// quay.example is slow.
func shop() []*fakeAgent {
	start := func(network, pull float64) []phase {
		return []phase{
			{timeline.PhaseScheduling, 0.1},
			{timeline.PhaseKubeletPickup, 0.1},
			{timeline.PhaseVolumes, 0.4},
			{timeline.PhaseNetwork, network},
			{timeline.PhaseSandbox, 0.2},
			{timeline.PhasePull, pull},
			{timeline.PhaseContainerStart, 0.3},
			{timeline.PhaseReadinessProbe, 1.5},
		}
	}
	var cluster []*fakeAgent
	for i, network := range []float64{0.2, 6.5, 0.2} {
		node := []string{"worker-1", "worker-2", "worker-3"}[i]
		agent := &fakeAgent{
			node:   node,
			labels: map[string]string{},
			pulls:  api.PullList{Items: []api.LivePullRecord{}, Recent: []api.RecentPullRecord{}},
		}
		names := []string{"web-7d4b9-x2x8k", "web-7d4b9-lq5tp", "cart-0", "mail-1", "auth-6f6c-9zvwr", "feed-2"}
		owners := []string{"Deployment/web", "Deployment/web", "StatefulSet/cart", "StatefulSet/mail",
			"Deployment/auth", "StatefulSet/feed"}
		for k, name := range names {
			owner := owners[k]
			name = name[:len(name)-1] + string(rune('a'+i))
			if parts := strings.Split(name, "-"); len(parts) == 3 {
				agent.labels[name] = "pod-template-hash=" + parts[1]
			}
			registry, pull := "registry.example", 2.1
			if k%2 == 1 {
				registry, pull = "quay.example", 9.4
			}
			r := startUp(name, node, owner, time.Duration(4+k)*time.Minute, start(network, pull)...)
			agent.records = append(agent.records, pulled(r, registry, pull, 40))
		}
		cluster = append(cluster, agent)
	}
	cluster[0].startUp = nodeStartUp()
	stuck := startUp("cart-1", "worker-3", "StatefulSet/cart", 0, phase{timeline.PhaseVolumes, 0.5},
		phase{timeline.PhasePull, 94})
	stuck.Missing = []string{"started/app"}
	stuck.Pulls = []api.PullRecord{{Container: "app", Kind: timeline.KindMain, Image: "quay.example/shop/cart:5",
		Registry: "quay.example", Outcome: imagepull.OutcomePulling}}
	cluster[2].records = append(cluster[2].records, stuck)
	cluster[2].pulls.Items = []api.LivePullRecord{{Namespace: "shop", Pod: "cart-1", Container: "app",
		Image: "quay.example/shop/cart:5", Registry: "quay.example", Outcome: imagepull.OutcomePulling,
		State: api.PullStatePulling, Age: api.Seconds(94 * time.Second), DoneBytes: 31 << 20, TotalBytes: 118 << 20,
		BytesPerSecond: 512 << 10, Remaining: api.Seconds(174 * time.Second)}}
	for _, agent := range cluster[:2] {
		first := agent.records[0]
		agent.pulls.Recent = append(
			agent.pulls.Recent,
			api.RecentPullRecord{Namespace: first.Namespace, Pod: first.Name,
				UID: first.UID, PullRecord: first.Pulls[0]},
		)
	}
	return cluster
}

// clusterOf starts agents behind a fake API server, which also knows the agents' pods.
func clusterOf(t *testing.T, cluster []*fakeAgent) *agentstest.APIServer {
	t.Helper()
	var pods []agentstest.Pod
	for _, agent := range cluster {
		server := httptest.NewServer(agent)
		t.Cleanup(server.Close)
		pods = append(pods, agentOn(agent.node, server.URL))
		for _, r := range agent.records {
			pods = append(pods, agentstest.Pod{Namespace: r.Namespace, Name: r.Name, Node: r.Node})
		}
	}
	return agentstest.Start(t, pods...)
}

// atNoon runs the plugin with a clock that always shows noon.
func atNoon(t testing.TB, server *agentstest.APIServer, args ...string) commandOutput {
	t.Helper()
	var stdout, stderr bytes.Buffer
	program := programOf(PluginProgram)
	program.Now = func() time.Time { return noon }
	env := environment{"KUBECONFIG": agentstest.Kubeconfig(t, server.URL)}
	code := program.Run(t.Context(), args, env.get, &stdout, &stderr)
	return commandOutput{code, stdout.String(), stderr.String()}
}
