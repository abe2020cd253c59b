package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/history"
	"github.com/podlapse/podlapse/internal/live"
	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/traceevent"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// askedAt is the time of requests in tests without a running server.
var askedAt = time.Date(2026, time.March, 1, 13, 0, 0, 0, time.UTC)

func (f *fake) api() API {
	now := func() time.Time { return askedAt }
	registry := prometheus.NewRegistry()
	kept := history.New(history.Config{Pods: 1000, Bytes: 16 << 20, Now: now, Registerer: registry,
		Logger: zap.NewNop()})
	for _, t := range f.gone {
		kept.Add(t)
	}
	return API{
		Node: "node-1", Agent: api.AgentRecord{Version: "v1", Revision: "abc",
			StartedAt: api.InstantOf(askedAt.Add(-time.Hour))},
		Now: now, Skew: func(context.Context) (timeline.Skew, error) { return timeline.Skew{}, f.err },
		History: kept,
		Live: live.New(live.Config{
			Some:  func(context.Context, []string) ([]timeline.Timeline, error) { return nil, f.err },
			Pulls: func(context.Context) (livepull.Snapshot, error) { return livepull.Snapshot{}, f.err },
			Now:   now, Registerer: registry, Logger: zap.NewNop(),
		}),
		Objects: f.objects,
	}
}

func startUps(from, to int) []timeline.Timeline {
	var all []timeline.Timeline
	for n := from; n < to; n++ {
		all = append(all, startuptest.New(n))
	}
	return all
}

// TestPagination walks through present and deleted pods in pages of every size.
func TestPagination(t *testing.T) {
	// One pod is being handed over to the history.
	f := &fake{timelines: startUps(0, 30), gone: append(startUps(30, 57), startuptest.New(7))}
	for _, limit := range []int{1, 7, 56, 57, 58, 500} {
		seen := map[string]bool{}
		query, before := url.Values{"limit": {fmt.Sprint(limit)}}, ""
		for {
			page := decode[api.PodList](t, f.ask(t, http.MethodGet, "/api/v1/pods?"+query.Encode()))
			for _, r := range page.Items {
				if place := r.Namespace + "/" + r.Name; seen[r.UID] || place <= before {
					t.Fatalf("limit %d: %s after %s", limit, place, before)
				} else {
					seen[r.UID], before = true, place
				}
			}
			if len(page.Items) > limit || page.Remaining != 57-len(seen) ||
				(page.Continue == "") != (page.Remaining == 0) {
				t.Fatalf("limit %d: page with %d items, %d remaining, %d seen, continue %q", limit, len(page.Items),
					page.Remaining, len(seen), page.Continue)
			}
			if page.Continue == "" {
				break
			}
			query.Set("continue", page.Continue)
		}
		if len(seen) != 57 {
			t.Errorf("limit %d: %d pods", limit, len(seen))
		}
	}
	many := (&fake{timelines: startUps(0, 130)}).ask(t, http.MethodGet, "/api/v1/pods")
	if page := decode[api.PodList](t, many); len(page.Items) != 100 || page.Remaining != 30 {
		t.Errorf("without a limit: %d items, %d remaining", len(page.Items), page.Remaining)
	}
}

// The next page continues after the last pod of the previous one, even if that pod was deleted meanwhile.
func TestContinueAfterDeletedPod(t *testing.T) {
	pods := []timeline.Timeline{{Namespace: "a", Name: "1"}, {Namespace: "a", Name: "2"}, {Namespace: "a", Name: "3"}}
	page := decode[api.PodList](t, (&fake{timelines: pods}).ask(t, http.MethodGet, "/api/v1/pods?limit=2"))
	rest := decode[api.PodList](t,
		(&fake{timelines: pods[2:]}).ask(t, http.MethodGet, "/api/v1/pods?limit=2&continue="+page.Continue))
	if len(rest.Items) != 1 || rest.Items[0].Name != "3" {
		t.Errorf("%+v", rest)
	}
}

func TestFilters(t *testing.T) {
	there, gone := startuptest.New(1), startuptest.New(2)
	f := &fake{timelines: []timeline.Timeline{there}, gone: []timeline.Timeline{gone}}
	names := func(query string) string {
		var names []string
		for _, r := range decode[api.PodList](t, f.ask(t, http.MethodGet, "/api/v1/pods?"+query)).Items {
			switch r.UID {
			case there.UID:
				names = append(names, "there")
			case gone.UID:
				names = append(names, "gone")
			}
		}
		return strings.Join(names, " ")
	}
	slow := max(there.Total, gone.Total) // at least one of them is not slower
	for query, want := range map[string]string{
		"":                            "there gone",
		"gone=true":                   "gone",
		"gone=false":                  "there",
		"namespace=" + gone.Namespace: "gone",
		"name=" + there.Name:          "there",
		"owner=Deployment/web-0":      "there gone",
		"owner=Deployment/web-1":      "",
		"labelSelector=" + url.QueryEscape("tier in (front),app=web-0"): "there gone",
		"labelSelector=tier=back":               "",
		"phase=unpack":                          "there gone",
		"phase=image_backoff":                   "",
		"slower-than=" + slow.String():          "",
		"state=starting,failed":                 "",
		"since=" + askedAt.Format(time.RFC3339): "",
		"phase=unpack&slower-than=2s":           "", // their longest phase is shorter
	} {
		if got := names(query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// A deleted pod has the same explanation as before.
func TestDeletedPod(t *testing.T) {
	gone := startuptest.New(3)
	f := &fake{gone: []timeline.Timeline{gone}}
	path := "/api/v1/pods/" + gone.Namespace + "/" + gone.Name
	want := api.NewRecord(gone)
	want.GoneAt = api.InstantOf(askedAt)
	line, err := api.EncodeLine(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.ask(t, http.MethodGet, path).Body.String(); got != string(line)+"\n" {
		t.Errorf("got\n%s\nwant\n%s", got, line)
	}
	if answer := f.ask(t, http.MethodGet, path+"?uid=other"); answer.Code != http.StatusNotFound {
		t.Errorf("another UID: %d", answer.Code)
	}
	trace := f.ask(t, http.MethodGet, path+"/trace")
	line, err = api.EncodeLine(traceevent.New(want))
	if err != nil {
		t.Fatal(err)
	}
	if trace.Body.String() != string(line)+"\n" ||
		trace.Header().Get("Content-Disposition") != `attachment; filename="`+gone.Namespace+"_"+gone.Name+
			`.trace.json"` {
		t.Errorf("%v: %s", trace.Header(), trace.Body)
	}
}

func TestUIDSelectsPodOfSameName(t *testing.T) {
	f := &fake{
		timelines: []timeline.Timeline{{Namespace: "a", Name: "x", UID: "new", CreatedAt: firstStart.Add(time.Hour)}},
		gone:      []timeline.Timeline{{Namespace: "a", Name: "x", UID: "old", CreatedAt: firstStart}},
	}
	for query, want := range map[string]string{"": "new", "?uid=new": "new", "?uid=old": "old"} {
		if got := decode[api.Record](t, f.ask(t, http.MethodGet, "/api/v1/pods/a/x"+query)).UID; got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}

func TestBadParameters(t *testing.T) {
	for target, want := range map[string]string{
		"/api/v1/pods?limit=0":                  "must be 1 to 500",
		"/api/v1/pods?limit=501":                "must be 1 to 500",
		"/api/v1/pods?limit=x":                  "must be 1 to 500",
		"/api/v1/pods?continue=x":               "unset to start again",
		"/api/v1/pods?continue=e30":             "unset to start again", // {}
		"/api/v1/pods?slowerthan=5s":            "must be one of continue, gone, labelSelector, limit",
		"/api/v1/pods?namespace=team-1%zz":      `invalid URL escape "%zz": must be NAME=VALUE`,
		"/api/v1/pods?namespace=team-1;limit=1": "invalid semicolon separator",
		"/api/v1/pods?limit=1&limit=2":          "limit is set 2 times",
		"/api/v1/pods?state=ready&state=failed": "state is set 2 times",
		"/api/v1/pods/a/b?uid=1&uid=2":          "uid is set 2 times",
		"/api/v1/pulls?namespace=a,":            "must be namespaces separated by commas",
		"/api/v1/pods?state=Ready":              "must be one or more of starting",
		"/api/v1/pods/a/b?limit=1":              "must be one of uid",
		"/api/v1/pods/a/b/trace?x":              "must be one of uid",
		"/api/v1/node?x=1":                      "takes none",
		"/api/v1/registries?x=1":                "takes none",
		"/api/v1/evidence?x=1":                  "takes none",
		"/api/v1/pulls?state=x":                 "must be one of limit, namespace, registry",
		"/api/v1/pulls?limit=1000":              "must be 1 to 500",
		"/api/v1/stream?gone=true":              "must be one of labelSelector, last_event_id",
		"/api/v1/stream?phase=x":                "must be one or more of scheduling",
		"/api/v1/objects/pods?labelSelector=,":  "label selector, for example",
	} {
		answer := (&fake{}).ask(t, http.MethodGet, target)
		got := decode[problem](t, answer)
		if answer.Code != http.StatusBadRequest || got.Error != "bad_request" || !strings.Contains(got.Reason, want) {
			t.Errorf("%s: %d %+v, want %q", target, answer.Code, got, want)
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
		answer := httptest.NewRecorder()
		handlerOf(f.config()).ServeHTTP(answer, request)
		return answer
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
		answer := ask("If-None-Match", had, "Accept-Encoding", "gzip")
		if answer.Code != http.StatusNotModified || answer.Body.Len() > 0 || answer.Header().Get("ETag") == "" {
			t.Errorf("%s: %d, %v", name, answer.Code, answer.Header())
		}
	}
	f.timelines = startUps(0, 4)
	if answer := ask("If-None-Match", tag); answer.Code != http.StatusOK || answer.Header().Get("ETag") == tag {
		t.Errorf("after a change: %d, %v", answer.Code, answer.Header())
	}
}

func TestHead(t *testing.T) {
	server := httptest.NewServer(handlerOf((&fake{timelines: startUps(0, 3)}).config()))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/api/v1/pods", "/api/v1/node", "/api/v1/stream", "/api/v1/openapi.json"} {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+path, nil)
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK || err != nil || len(body) > 0 ||
			answer.Header.Get("Content-Type") == "" {
			t.Errorf("%s: %d %v", path, answer.StatusCode, answer.Header)
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
		!got.History.OldestAt.Equal(askedAt) {
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
	// One pod is being handed over to the history.
	f := &fake{timelines: []timeline.Timeline{there, failed}, gone: []timeline.Timeline{gone, there}}
	got := decode[api.PullList](t, f.ask(t, http.MethodGet, "/api/v1/pulls"))
	if len(got.Recent) != 3 || got.Recent[2].UID != "f" ||
		got.Recent[0].FinishedAt.Before(got.Recent[1].FinishedAt.Time) ||
		got.Recent[0].Layers != nil || got.Recent[0].Download == nil {
		t.Errorf("%+v", got)
	}
	answer := f.ask(t, http.MethodGet, "/api/v1/pulls?limit=1&registry=registry.example:5000")
	if got := decode[api.PullList](t, answer); len(got.Recent) != 1 || got.Recent[0].UID == "f" {
		t.Errorf("%+v", got)
	}
	if got := decode[api.PullList](t, f.ask(t, http.MethodGet, "/api/v1/pulls?namespace=a")); len(got.Recent) != 1 ||
		got.Recent[0].UID != "f" {
		t.Errorf("%+v", got)
	}
	answer = f.ask(t, http.MethodGet, "/api/v1/pulls?namespace=a,"+there.Namespace)
	if got := decode[api.PullList](t, answer); len(got.Recent) != 2 {
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

func TestEvidence(t *testing.T) {
	lacking := timeline.Timeline{UID: "1", Total: 3 * time.Second, Missing: []string{"x"}, LostEvents: []string{"y"},
		Reconstructed: true,
		Phases: []timeline.Span{{Phase: timeline.PhaseUnattributed, StartAt: firstStart,
			EndAt: firstStart.Add(2 * time.Second)}}}
	torn := timeline.Timeline{UID: "2", Total: time.Second, Conflicts: make([]timeline.Conflict, 2)}
	// One pod is being handed over to the history.
	f := &fake{timelines: []timeline.Timeline{lacking}, gone: []timeline.Timeline{torn, lacking},
		statuses: []health.Status{{Part: "cri", Detail: "refused", Since: firstStart}, {Part: "pod_watch", Up: true}}}
	got := decode[api.EvidenceRecord](t, f.ask(t, http.MethodGet, "/api/v1/evidence"))
	if got.StartUps != (api.EvidenceCounts{Known: 2, Reconstructed: 1, WithConflicts: 1, WithMissing: 1,
		WithLostEvents: 1}) ||
		got.Total.Duration() != 4*time.Second || got.Unattributed.Duration() != 2*time.Second ||
		len(got.Parts) != 2 || got.Parts[0].Required || !got.Parts[1].Required || got.Parts[0].Detail != "refused" {
		t.Errorf("%+v", got)
	}
}

func TestObjects(t *testing.T) {
	if answer := (&fake{}).ask(t, http.MethodGet, "/api/v1/objects/pods"); answer.Code != http.StatusNotFound ||
		!strings.Contains(decode[problem](t, answer).Reason, "--serve-objects=on") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	f := &fake{objects: func(w io.Writer, want func(namespace, name, labels string) bool) error {
		_, err := fmt.Fprintf(w, "[%t,%t,%t]", want("a", "x", "app=web"), want("b", "x", "app=web"),
			want("a", "x", "app=db"))
		return err
	}}
	answer := f.ask(t, http.MethodGet, "/api/v1/objects/pods?namespace=a&labelSelector=app=web")
	if got := decode[[]bool](t, answer); fmt.Sprint(got) != "[true false false]" || answer.Header().Get("ETag") != "" {
		t.Errorf("%v", got)
	}
}

// A truncated answer must not look complete.
func TestTruncatedObjects(t *testing.T) {
	f := &fake{objects: func(w io.Writer, _ func(namespace, name, labels string) bool) error {
		_, _ = io.WriteString(w, `{"items":[`)
		return io.ErrShortWrite
	}}
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("ended with %v", got)
		}
	}()
	f.ask(t, http.MethodGet, "/api/v1/objects/pods")
}

func BenchmarkList(b *testing.B) {
	f := &fake{timelines: startUps(0, 500)}
	handler := newReads(f.config(), newLimits(newCounters(nil)), nil) // without rate limits
	for name, encoding := range map[string]string{"plain": "", "gzip": "gzip"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			bytes := 0
			for b.Loop() {
				request := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/api/v1/pods?limit=500", nil)
				request.Header.Set("Accept-Encoding", encoding)
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, request)
				bytes = answer.Body.Len()
			}
			b.ReportMetric(float64(bytes), "bytes/answer")
		})
	}
}
