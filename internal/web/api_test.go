package web

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/history"
	"github.com/podlapse/podlapse/internal/live"
	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/tally"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// requestedAt is the time of requests in tests without a running server.
var requestedAt = time.Date(2026, time.March, 1, 13, 0, 0, 0, time.UTC)

func (f *fake) api() API {
	now := func() time.Time { return requestedAt }
	registry := prometheus.NewRegistry()
	kept := history.New(history.Config{Pods: 1000, Bytes: 16 << 20, Now: now, Registerer: registry,
		Logger: zap.NewNop()})
	sums := tally.New(tally.Config{Node: "node-1", Bytes: 4 << 20, Now: now})
	for _, t := range f.gone {
		kept.Add(t)
		sums.Add(t)
	}
	for _, t := range f.timelines {
		sums.Add(t)
	}
	if f.noTally {
		sums = nil
	}
	return API{
		Node: "node-1", Agent: api.AgentRecord{Version: "v1", Revision: "abc",
			StartedAt: api.InstantOf(requestedAt.Add(-time.Hour))},
		Now: now, Skew: func(context.Context) (timeline.Skew, error) { return timeline.Skew{}, f.err },
		History: kept,
		Live: live.New(live.Config{
			Some:  func(context.Context, []string) ([]timeline.Timeline, error) { return nil, f.err },
			Pulls: func(context.Context) (livepull.Snapshot, error) { return livepull.Snapshot{}, f.err },
			Now:   now, Registerer: registry, Logger: zap.NewNop(),
		}),
		Objects: f.objects, NodeStartUp: f.nodeStartUp,
		Tally: sums,
	}
}

func TestBadParameters(t *testing.T) {
	long := strings.Repeat("x", filter.MaxText+1)
	for target, want := range map[string]string{
		"/api/v1/pods?limit=0":                  "must be 1 to 500",
		"/api/v1/pods?limit=501":                "must be 1 to 500",
		"/api/v1/pods?limit=x":                  "must be 1 to 500",
		"/api/v1/pods?continue=x":               "unset to start with the first item",
		"/api/v1/pods?continue=e30":             "unset to start with the first item", // the token of {}
		"/api/v1/pods?slowerthan=5s":            "must be one of continue, gone, labelSelector, limit",
		"/api/v1/pods?namespace=team-1%zz":      `invalid URL escape "%zz": parameters must be percent-encoded`,
		"/api/v1/pods?namespace=team-1;limit=1": "invalid semicolon separator",
		"/api/v1/pods?limit=1&limit=2":          "limit is set 2 times",
		"/api/v1/pods?state=ready&state=failed": "state is set 2 times",
		"/api/v1/pods/a/b?uid=1&uid=2":          "uid is set 2 times",
		"/api/v1/pulls?namespace=a,":            "must be namespaces separated by commas",
		"/api/v1/pods?state=Ready":              "must be one or more of starting",
		"/api/v1/pods/a/b?limit=1":              "must be one of uid",
		"/api/v1/pods/a/b/trace?x":              "must be one of uid",
		"/api/v1/node?x=1":                      "has no parameters",
		"/api/v1/registries?x=1":                "has no parameters",
		"/api/v1/phases?x=1":                    "has no parameters",
		"/api/v1/evidence?x=1":                  "has no parameters",
		"/api/v1/totals?x=1":                    "must be one of namespace, since, until",
		"/api/v1/totals?until=yesterday":        "until: invalid value \"yesterday\": must be a time",
		"/api/v1/report?until=1h":               "must be one of continue, limit, namespace, since",
		"/api/v1/report?continue=e30":           "unset to start with the first item", // the token of {}
		"/api/v1/report?limit=501":              "must be 1 to 500",
		"/api/v1/workloads/a/Job/b?since=1h":    "must be one of revision",
		"/api/v1/totals?since=1h&until=2h":      "must be later than the time in since",
		"/api/v1/workloads/a/b/c?revision=1,1":  "must be one revision, or two different revisions, separated by a",
		"/api/v1/workloads/a/b/c?revision=1,":   "must be one revision, or two different revisions, separated by a",
		"/api/v1/workloads/a/b/c?revision=1,2,": "must be one revision, or two different revisions, separated by a",
		"/api/v1/pulls?state=x":                 "must be one of limit, namespace, registry",
		"/api/v1/pulls?limit=1000":              "must be 1 to 500",
		"/api/v1/stream?gone=true":              "must be one of labelSelector, last_event_id",
		"/api/v1/stream?phase=x":                "must be one or more of scheduling",
		"/api/v1/objects/pods?labelSelector=,":  "label selector, for example",
		"/api/v1/pods?name=" + long:             "name is too long: must be at most 4096 bytes",
		"/api/v1/pods/a/b?uid=" + long:          "uid is too long: must be at most 4096 bytes",
		"/api/v1/pulls?registry=" + long:        "registry is too long: must be at most 4096 bytes",
		"/api/v1/workloads/a/b/c?revision=" +
			long + ",a": "revision is too long: must be at most 4096 bytes",
	} {
		response := (&fake{}).ask(t, http.MethodGet, target)
		got := decode[problem](t, response)
		if response.Code != http.StatusBadRequest || got.Error != "bad_request" || !strings.Contains(got.Reason, want) {
			t.Errorf("%s: %d %+v, want %q", target, response.Code, got, want)
		}
	}
}

func TestConditional(t *testing.T) {
	f := &fake{timelines: startUps(0, 3)}
	ask := func(header ...string) *httptest.ResponseRecorder {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/pods", nil)
		for i := 0; i < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		response := httptest.NewRecorder()
		handlerOf(f.config()).ServeHTTP(response, request)
		return response
	}
	plain := ask()
	tag := plain.Header().Get("ETag")
	if len(tag) < 10 || strings.HasPrefix(tag, "W/") || plain.Header().Get("Cache-Control") != "private, no-cache" {
		t.Fatalf("%v", plain.Header())
	}
	packed := ask("Accept-Encoding", "gzip")
	reader, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatalf("%v: %v", packed.Header(), err)
	}
	text, err := io.ReadAll(reader)
	packedTag := packed.Header().Get("ETag")
	if err != nil || string(text) != plain.Body.String() || packedTag == tag ||
		packed.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("%v, %v, %d bytes", err, packed.Header(), len(text))
	}
	for name, had := range map[string]string{
		"the same": tag, "packed": packedTag, "weak": "W/" + tag, "one of some": `"x", ` + tag, "any": "*",
	} {
		response := ask("If-None-Match", had, "Accept-Encoding", "gzip")
		if response.Code != http.StatusNotModified || response.Body.Len() > 0 || response.Header().Get("ETag") == "" {
			t.Errorf("%s: %d, %v", name, response.Code, response.Header())
		}
	}
	f.timelines = startUps(0, 4)
	if response := ask("If-None-Match", tag); response.Code != http.StatusOK || response.Header().Get("ETag") == tag {
		t.Errorf("after a change: %d, %v", response.Code, response.Header())
	}
}

func TestHead(t *testing.T) {
	server := httptest.NewServer(handlerOf((&fake{timelines: startUps(0, 3)}).config()))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/api/v1/pods", "/api/v1/node", "/api/v1/stream", "/api/v1/openapi.json"} {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+path, nil)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusOK || err != nil || len(body) > 0 ||
			response.Header.Get("Content-Type") == "" {
			t.Errorf("%s: %d %v", path, response.StatusCode, response.Header)
		}
	}
}

func TestNode(t *testing.T) {
	starting := startuptest.Changed(startuptest.New(1), 1)
	other := startuptest.Changed(startuptest.New(2), 1)
	f := &fake{
		timelines: []timeline.Timeline{starting, other, startuptest.New(3)}, gone: startUps(4, 6),
		statuses: []health.Status{{Part: "pod_watch", Up: true}},
	}
	got := decode[api.NodeRecord](t, f.ask(t, http.MethodGet, "/api/v1/node"))
	oldest := max(lastPhase(starting), lastPhase(other))
	if got.Node != "node-1" || !got.Ready || got.Agent.Version != "v1" || got.Pods.Present != 3 ||
		got.Pods.States["starting"] != 2 ||
		got.Pods.States["ready"] != 1 || len(got.Starting) != 1 || got.Starting[0].Pods != 2 ||
		got.Starting[0].Oldest.Duration() != oldest ||
		got.Starting[0].Phase != timeline.PhaseReadinessProbe || got.Starting[0].Cause != timeline.CauseApp ||
		got.History.Pods != 2 || got.History.LimitPods != 1000 || got.History.Bytes == 0 ||
		!got.History.OldestAt.Equal(requestedAt) {
		t.Errorf("%+v", got)
	}
	f.statuses = nil
	if decode[api.NodeRecord](t, f.ask(t, http.MethodGet, "/api/v1/node")).Ready {
		t.Error("ready without the pod watch")
	}
}

func lastPhase(t timeline.Timeline) time.Duration { return t.Phases[len(t.Phases)-1].Duration() }

func TestRecentPullsAndRegistries(t *testing.T) {
	there, gone := startuptest.New(1), startuptest.New(2)
	failed := timeline.Timeline{Namespace: "a", Name: "f", UID: "f", Pulls: []timeline.Pull{
		{Container: "c", Registry: "other.example", Outcome: imagepull.OutcomeFailed, Failure: "not_found",
			FinishedAt: there.CreatedAt.Add(-time.Hour)},
		{Container: "c", Registry: "other.example", Outcome: imagepull.OutcomePulling, Attempt: 1},
	}}
	// One pod has just moved to the history, so both sources contain the pod.
	f := &fake{timelines: []timeline.Timeline{there, failed}, gone: []timeline.Timeline{gone, there}}
	got := decode[api.PullList](t, f.ask(t, http.MethodGet, "/api/v1/pulls"))
	if len(got.Recent) != 3 || got.Recent[2].UID != "f" ||
		got.Recent[0].FinishedAt.Before(got.Recent[1].FinishedAt.Time) ||
		got.Recent[0].Layers != nil || got.Recent[0].Download == nil {
		t.Errorf("%+v", got)
	}
	response := f.ask(t, http.MethodGet, "/api/v1/pulls?limit=1&registry=registry.example:5000")
	if got := decode[api.PullList](t, response); len(got.Recent) != 1 || got.Recent[0].UID == "f" {
		t.Errorf("%+v", got)
	}
	response = f.ask(t, http.MethodGet, "/api/v1/pulls?registry=Other.Example") // the case of a host does not matter
	if got := decode[api.PullList](t, response); len(got.Recent) != 1 || got.Recent[0].UID != "f" {
		t.Errorf("%+v", got)
	}
	if got := decode[api.PullList](t, f.ask(t, http.MethodGet, "/api/v1/pulls?namespace=a")); len(got.Recent) != 1 ||
		got.Recent[0].UID != "f" {
		t.Errorf("%+v", got)
	}
	response = f.ask(t, http.MethodGet, "/api/v1/pulls?namespace=a,"+there.Namespace)
	if got := decode[api.PullList](t, response); len(got.Recent) != 2 {
		t.Errorf("%+v", got)
	}
	registries := decode[api.RegistryList](t, f.ask(t, http.MethodGet, "/api/v1/registries")).Items
	if len(registries) != 2 || registries[0].Registry != "other.example" || registries[0].Failures["not_found"] != 1 ||
		registries[0].Outcomes["failed"] != 1 ||
		registries[0].Outcomes["pulling"] != 0 || registries[1].Outcomes["downloaded"] != 2 ||
		registries[1].Outcomes["present"] != 0 ||
		registries[1].Bytes != api.NewRecord(there).Pulls[2].Download.Bytes+
			api.NewRecord(gone).Pulls[2].Download.Bytes {
		t.Errorf("%+v", registries)
	}
}
