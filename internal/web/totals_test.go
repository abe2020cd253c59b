package web

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// endedStartUps returns start-ups that ended at intervals of one minute. The last start-up ended one minute
// before requestedAt.
func endedStartUps(n int) []timeline.Timeline {
	all := startUps(0, n)
	for i := range all {
		all[i].SettledAt = requestedAt.Add(-time.Duration(n-i) * time.Minute)
	}
	return all
}

func TestTotals(t *testing.T) {
	all := endedStartUps(90)
	all[70].Namespace = "elsewhere"
	pulling := startuptest.StillPulling()
	// The last pod has just moved to the history, so both sources contain the pod.
	f := &fake{timelines: append([]timeline.Timeline{pulling}, all[60:]...), gone: append(all[:60:60], all[89])}
	hourAgo := requestedAt.Add(-time.Hour)
	for query, test := range map[string]struct {
		window    factor.TimeWindow
		namespace string
		ended     int
	}{
		"":                                    {factor.TimeWindow{}, "", 90},
		"since=1h":                            {factor.TimeWindow{Since: hourAgo}, "", 60},
		"until=1h":                            {factor.TimeWindow{Until: hourAgo}, "", 30},
		"since=2h&until=1h":                   {factor.TimeWindow{Until: hourAgo}, "", 30},
		"namespace=elsewhere":                 {factor.TimeWindow{}, "elsewhere", 1},
		"until=2026-03-01T11:00:00Z":          {factor.TimeWindow{Until: requestedAt.Add(-2 * time.Hour)}, "", 0},
		"since=2026-03-01T12:00:00.5%2B00:00": {factor.TimeWindow{Since: hourAgo.Add(time.Second / 2)}, "", 59},
	} {
		want := factor.NewTotals("node-1", test.window)
		for _, startUp := range append([]timeline.Timeline{pulling}, all...) {
			if test.namespace == "" || startUp.Namespace == test.namespace {
				want.Add(api.NewRecord(startUp))
			}
		}
		got := decode[api.TotalsRecord](t, f.ask(t, http.MethodGet, "/api/v1/totals?"+query))
		expected := want.Record()
		expected.At = api.InstantOf(requestedAt)
		if !reflect.DeepEqual(got, expected) || got.Ended != test.ended {
			t.Errorf("%s: %+v\nwant %d ended: %+v", query, got, test.ended, expected)
		}
	}
}

// TestTotalsAreSmall compares the size of the totals with the size of the records, for an agent with a full
// history.
func TestTotalsAreSmall(t *testing.T) {
	const most = 16 << 10
	f := &fake{gone: endedStartUps(1000), timelines: nil}
	for i := range f.gone { // many durations and several registries fill many buckets
		for k := range f.gone[i].Pulls {
			p := &f.gone[i].Pulls[k]
			p.Registry, p.Pull = fmt.Sprintf("registry-%d.example", i%4), time.Duration(1+i)*50*time.Millisecond
		}
	}
	records, next := 0, ""
	for {
		response := f.ask(t, http.MethodGet, "/api/v1/pods?limit=500&continue="+url.QueryEscape(next))
		records += response.Body.Len()
		if next = decode[api.PodList](t, response).Continue; next == "" {
			break
		}
	}
	response := f.ask(t, http.MethodGet, "/api/v1/totals")
	totals := response.Body.Len()
	t.Logf("records %d bytes, totals %d bytes", records, totals)
	got := decode[api.TotalsRecord](t, response)
	if got.Ended != 1000 || len(got.Registries) != 4 {
		t.Errorf("%d start-ups ended, %d registries", got.Ended, len(got.Registries))
	}
	if totals > most || records < 100*totals {
		t.Errorf("the totals have %d bytes, and the records have %d bytes; want at most %d bytes and a hundredth",
			totals, records, most)
	}
}

func BenchmarkTotals(b *testing.B) {
	f := &fake{gone: endedStartUps(1000)}
	handler := handlerOf(f.config())
	b.ReportAllocs()
	for b.Loop() {
		response := newDiscard()
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/api/v1/totals", nil)
		if err != nil {
			b.Fatal(err)
		}
		handler.ServeHTTP(response, request)
	}
}

// discard is a response writer that drops the response.
type discard struct{ header http.Header }

func newDiscard() discard { return discard{http.Header{}} }

// Header implements http.ResponseWriter.
func (d discard) Header() http.Header { return d.header }

// Write implements http.ResponseWriter.
func (d discard) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (d discard) WriteHeader(int) {}
