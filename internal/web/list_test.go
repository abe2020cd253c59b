package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/traceevent"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func startUps(from, to int) []timeline.Timeline {
	var all []timeline.Timeline
	for n := from; n < to; n++ {
		all = append(all, startuptest.New(n))
	}
	return all
}

// TestPagination walks through present and deleted pods in pages of every size.
func TestPagination(t *testing.T) {
	// One pod has just moved to the history, so both sources contain the pod.
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

// The next page continues after the last pod of the previous page, even if this pod was deleted in the meantime.
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
	slow := max(there.Total, gone.Total) // at least one start-up is not slower than this duration
	for query, want := range map[string]string{
		"":                            "there gone",
		"gone=true":                   "gone",
		"gone=false":                  "there",
		"namespace=" + gone.Namespace: "gone",
		"name=" + there.Name:          "there",
		"owner=Deployment/web-0":      "there gone",
		"owner=Deployment/web-1":      "",
		"labelSelector=" + url.QueryEscape("tier in (front),app=web-0"): "there gone",
		"labelSelector=tier=back":                   "",
		"phase=unpack":                              "there gone",
		"phase=image_backoff":                       "",
		"slower-than=" + slow.String():              "",
		"state=starting,failed":                     "",
		"since=" + requestedAt.Format(time.RFC3339): "",
		"phase=unpack&slower-than=2s":               "", // the unpack phases are shorter
	} {
		if got := names(query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// The record of a deleted pod is the same as before the deletion, except for the time of the deletion.
func TestDeletedPod(t *testing.T) {
	gone := startuptest.New(3)
	f := &fake{gone: []timeline.Timeline{gone}}
	path := "/api/v1/pods/" + gone.Namespace + "/" + gone.Name
	want := api.NewRecord(gone)
	want.GoneAt = api.InstantOf(requestedAt)
	line, err := api.EncodeLine(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.ask(t, http.MethodGet, path).Body.String(); got != string(line)+"\n" {
		t.Errorf("got\n%s\nwant\n%s", got, line)
	}
	if response := f.ask(t, http.MethodGet, path+"?uid=other"); response.Code != http.StatusNotFound {
		t.Errorf("another UID: %d", response.Code)
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
				response := httptest.NewRecorder()
				handler.ServeHTTP(response, request)
				bytes = response.Body.Len()
			}
			b.ReportMetric(float64(bytes), "bytes/response")
		})
	}
}
