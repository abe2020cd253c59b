package web

import (
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/tally"
	"github.com/podlapse/podlapse/pkg/api"
)

// TestReportPages compares the pages of a report with the sums of all start-ups. A pod is in progress.
func TestReportPages(t *testing.T) {
	f := &fake{timelines: append(startUps(0, 30), startuptest.StillPulling()), gone: startUps(30, 60)}
	want := tally.NewSums("node-1")
	for _, tl := range append(f.timelines, f.gone...) {
		want.Add(api.NewRecord(tl))
	}
	expected := want.Record()
	expected.Totals.At = api.InstantOf(requestedAt)
	var items []api.ReportItem
	next := ""
	for page := 0; page == 0 || next != ""; page++ {
		got := decode[api.ReportRecord](t, f.ask(t, http.MethodGet, "/api/v1/report?limit=7&continue="+
			url.QueryEscape(next)))
		items, next = append(items, got.Items...), got.Continue
		if len(items)+got.Remaining != len(expected.Items) || page > len(expected.Items)/7 {
			t.Fatalf("page %d: %d items, %d remaining, want %d", page, len(items), got.Remaining, len(expected.Items))
		}
		if hasTotals := page == 0; hasTotals != (got.Totals != nil) || hasTotals && !reflect.DeepEqual(got.Totals,
			expected.Totals) {
			t.Errorf("page %d: totals %+v", page, got.Totals)
		}
	}
	if !reflect.DeepEqual(items, expected.Items) {
		t.Errorf("got\n%+v\nwant\n%+v", items, expected.Items)
	}
}

// TestReportOfNamespace checks that a report about a namespace contains neither the items of other namespaces nor the
// totals of the node.
func TestReportOfNamespace(t *testing.T) {
	f := &fake{timelines: startUps(0, 100)}
	got := decode[api.ReportRecord](t, f.ask(t, http.MethodGet, "/api/v1/report?namespace=team-1,team-3&limit=500"))
	all := decode[api.ReportRecord](t, f.ask(t, http.MethodGet, "/api/v1/report?limit=500"))
	want := 0
	for _, item := range all.Items {
		if item.Namespace == "team-1" || item.Namespace == "team-3" {
			want++
		}
	}
	for _, item := range got.Items {
		if item.Namespace != "team-1" && item.Namespace != "team-3" {
			t.Errorf("an item of the namespace %q", item.Namespace)
		}
	}
	if len(got.Items) != want || want == 0 || want == len(all.Items) || got.Totals != nil {
		t.Errorf("%d items, want %d; totals %+v", len(got.Items), want, got.Totals)
	}
}

func TestReportSince(t *testing.T) {
	f := &fake{timelines: startUps(0, 10), gone: endedStartUps(70)} // ten start-ups ended before noon
	for since, want := range map[string]int{"": 80, "24h": 80, "61m": 80, "1h": 70, "1m": 70,
		"2026-03-01T13:00:00Z": 0} {
		query := ""
		if since != "" {
			query = "?since=" + since
		}
		got := decode[api.ReportRecord](t, f.ask(t, http.MethodGet, "/api/v1/report"+query))
		if got.Totals.Ended != want {
			t.Errorf("since %q: %d start-ups, want %d", since, got.Totals.Ended, want)
		}
	}
}

func TestReportWithoutSums(t *testing.T) {
	response := (&fake{noTally: true}).ask(t, http.MethodGet, "/api/v1/report")
	if got := decode[problem](t, response); response.Code != http.StatusNotFound || got.Error != "not_found" {
		t.Errorf("%d %+v", response.Code, got)
	}
}

// TestLongToken uses images with the longest names that the agent keeps. JSON needs six bytes for each of their
// characters, so the continue token exceeds the limit of other parameters.
func TestLongToken(t *testing.T) {
	all := startUps(0, 2)
	for i := range all {
		for k := range all[i].Pulls {
			all[i].Pulls[k].Image = strings.Repeat("<", 1023) + strconv.Itoa(i)
		}
	}
	f := &fake{gone: all}
	seen, next := map[string]bool{}, ""
	for page := 0; page == 0 || next != ""; page++ {
		got := decode[api.ReportRecord](t, f.ask(t, http.MethodGet, "/api/v1/report?limit=1&continue="+next))
		if len(got.Items) != 1 || page == 0 && len(got.Continue) <= filter.MaxText {
			t.Fatalf("page %d: %d items, and a token of %d bytes", page, len(got.Items), len(got.Continue))
		}
		seen[got.Items[0].Image], next = true, got.Continue
	}
	if !seen[all[0].Pulls[0].Image] || !seen[all[1].Pulls[0].Image] {
		t.Errorf("the pages contain %d images", len(seen))
	}
}
