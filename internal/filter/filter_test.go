package filter_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/pkg/timeline"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// readyStartUp returns a start-up that became ready ten minutes ago. The start-up took 12 s, and its two pulls took 7 s
// of this time.
func readyStartUp() (filter.Key, filter.Detail) {
	t := timeline.Timeline{
		Namespace: "shop", Name: "web-0", Owner: timeline.Owner{Kind: "StatefulSet", Name: "web"},
		Labels: "app=web,empty=,tier=front",
		State:  timeline.StateReady, Total: 12 * time.Second, SettledAt: now.Add(-10 * time.Minute),
		Phases: []timeline.Span{
			{Phase: timeline.PhaseScheduling, StartAt: now, EndAt: now.Add(5 * time.Second)},
			{Phase: timeline.PhasePull, StartAt: now, EndAt: now.Add(3 * time.Second)},
			{Phase: timeline.PhasePull, StartAt: now, EndAt: now.Add(4 * time.Second)},
		},
	}
	return filter.KeyOf(t), filter.DetailOf(t)
}

func TestMatch(t *testing.T) {
	key, detail := readyStartUp()
	for query, want := range map[string]bool{
		"":                      true,
		"namespace=":            true,
		"namespace=shop":        true,
		"namespace=bank,shop":   true,
		"namespace=sho":         false,
		"name=web-0":            true,
		"name=web":              false,
		"name=web-*":            true,
		"name=*":                true,
		"name=shop*":            false,
		"owner=web":             true,
		"owner=StatefulSet/web": true,
		"owner=Deployment/web":  false,
		"owner=statefulset/web": true,
		"owner=sts/web":         true,
		"owner=deploy/web":      false,
		"owner=we":              false,
		"labelSelector=app=web": true,
		"labelSelector=app==web,tier in (front,back)": true,
		"labelSelector=app!=web":                      false,
		"labelSelector=empty":                         true,
		"labelSelector=empty=":                        true,
		"labelSelector=!empty":                        false,
		"labelSelector=!ap":                           true,
		"labelSelector=ti":                            false,
		"labelSelector=tier notin (front)":            false,
		"state=ready":                                 true,
		"state=starting,ready":                        true,
		"state=starting":                              false,
		"phase=pull":                                  true,
		"phase=unpack":                                false,
		"phase=unpack,pull":                           true,
		"slower-than=11999ms":                         true,
		"slower-than=12s":                             false,
		"phase=pull&slower-than=6999ms":               true,
		"phase=pull&slower-than=7s":                   false,
		"phase=pull,scheduling&slower-than=11s":       true,
		"since=10m":                                   true,
		"since=599s":                                  false,
		"since=2026-03-01T11:50:00Z":                  true,
		"since=2026-03-01T12:50:00.5%2B01:00":         false,
		"gone=false":                                  true,
		"gone=true":                                   false,
		"namespace=shop&state=failed":                 false,
	} {
		f := parse(t, query)
		got := f.MayMatch(key) && f.Match(detail)
		if got != want {
			t.Errorf("%s: %t", query, got)
		}
		if got && !f.Belongs(key, detail) {
			t.Errorf("%s: matches but is not selected", query)
		}
	}
}

// TestBelongs checks that Belongs does not depend on fields that can change.
func TestBelongs(t *testing.T) {
	key, detail := readyStartUp()
	for query, want := range map[string]bool{
		"state=failed": true, "phase=unpack": true, "slower-than=1h": true, "since=1s": true, "gone=true": true,
		"namespace=bank": false, "name=x": false, "owner=x": false, "labelSelector=x": false,
	} {
		if got := parse(t, query).Belongs(key, detail); got != want {
			t.Errorf("%s: %t", query, got)
		}
	}
}

// TestSinceMatchesStartUpsInProgress checks that a start-up in progress matches every value of the parameter "since".
func TestSinceMatchesStartUpsInProgress(t *testing.T) {
	if !parse(t, "since=1s").MayMatch(filter.Key{State: timeline.StateStarting}) {
		t.Error("a start-up in progress is left out")
	}
}

func parse(t *testing.T, query string) filter.Filter {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	f, err := filter.Parse(values, now, filter.Names()...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestErrorsNameTheRemedy(t *testing.T) {
	for query, want := range map[string]string{
		"namespace=a,,b":                    "namespaces separated by commas",
		"name=a*b":                          `"*" at the end`,
		"owner=a/b/c":                       "KIND/NAME",
		"owner=/b":                          "KIND/NAME",
		"owner=b/":                          "KIND/NAME",
		"labelSelector=a in b":              "label selector, for example",
		"state=Ready":                       "one or more of starting, ready",
		"phase=pul":                         "pull_queue, pull, unpack",
		"slower-than=5":                     "for example 5s",
		"slower-than=-5s":                   "for example 5s",
		"since=yesterday":                   "such as 15m",
		"since=-15m":                        "such as 15m",
		"gone=maybe":                        "true or false",
		"name=a&name=b":                     "once",
		"name=" + strings.Repeat("a", 5000): "at most 4096 bytes",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = filter.Parse(values, now, filter.Names()...)
		name, _, _ := strings.Cut(query, "=")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%.40s: %v, want %q", query, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("namespace=a&labelSelector=a in (b)&since=1h&phase=pull")
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Skip()
		}
		parsed, err := filter.Parse(values, now, filter.Names()...)
		if err != nil {
			return
		}
		key, detail := readyStartUp()
		parsed.MayMatch(key)
		parsed.Match(detail)
	})
}
