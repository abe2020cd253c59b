package web

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/whatif"
	"github.com/podlapse/podlapse/internal/workload"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestWorkload compares the response with the summary and the predictions of the same records. Some pods exist, and the
// other pods are in the history. Pods of other workloads do not count.
func TestWorkload(t *testing.T) {
	const path = "/api/v1/workloads/shop/StatefulSet/web"
	all := startuptest.RolledOut("first", "second", "third")
	other := startuptest.Predictable("db-0")
	other.Owner.Name = "db"
	elsewhere := startuptest.Predictable("web-0")
	elsewhere.Namespace = "elsewhere"
	sameName := startuptest.Predictable("web-1")
	sameName.Owner.Kind = "Deployment"
	f := &fake{timelines: append([]timeline.Timeline{other, elsewhere, sameName}, all[6:]...), gone: all[:6]}
	var records []api.Record
	for _, startUp := range all {
		records = append(records, api.NewRecord(startUp))
	}
	schema := schemaOf(t, "components", "schemas", "Workload")
	for query, compare := range map[string][]string{"": {"second", "third"},
		"?revision=first,third": {"first", "third"}, "?revision=third,second": {"third", "second"}} {
		response := f.ask(t, http.MethodGet, path+query)
		check(t, schema, query, response.Body.Bytes())
		got := decode[api.WorkloadRecord](t, response)
		want := workload.Summarize(records, workload.Options{Compare: compare})
		for i := range want.Revisions {
			want.Revisions[i].Containers = nil // JSON does not contain the containers
		}
		if got.Node != "node-1" || got.Namespace != "shop" || got.Owner.Name != "web" ||
			!reflect.DeepEqual(got.Summary, want) || !reflect.DeepEqual(got.WhatIf, whatif.Means(records)) {
			t.Errorf("%s: got %+v,\nwant %+v", query, got, want)
		}
		if c := got.Summary.Comparison; c == nil || c.Difference.Verdict != api.MoreThanNoise ||
			len(got.Differences) != 1 || !strings.Contains(got.Differences[0], "revision "+compare[1]+" takes ") ||
			!strings.Contains(got.Differences[0], " than "+compare[0]) || len(got.WhatIf) != 1 ||
			got.WhatIf[0].StartUps != 12 {
			t.Errorf("%s: the comparison is %+v, the texts are %q, the predictions are %+v", query, c, got.Differences,
				got.WhatIf)
		}
	}
}

// TestKindInAnyCase requests a workload with the kind in lower case, as in a kubectl command.
func TestKindInAnyCase(t *testing.T) {
	f := &fake{timelines: startuptest.RolledOut("first", "second")}
	want := f.ask(t, http.MethodGet, "/api/v1/workloads/shop/StatefulSet/web").Body.String()
	got := f.ask(t, http.MethodGet, "/api/v1/workloads/shop/statefulset/web")
	if got.Code != http.StatusOK || got.Body.String() != want {
		t.Errorf("got %d %s, want %s", got.Code, got.Body, want)
	}
}

// TestManyStartUps requests a workload with more start-ups than a summary covers. The summary must omit the earliest
// start-ups, and say so.
func TestManyStartUps(t *testing.T) {
	const earlier = 5
	all := startUps(0, maxSummarized+earlier)
	for i := range all {
		all[i].Namespace, all[i].Owner.Name, all[i].Revision = "shop", "web", "new"
		if i < earlier {
			all[i].Revision = "old"
		}
	}
	f := &fake{timelines: all[:50], gone: all[50:]}
	const path = "/api/v1/workloads/shop/Deployment/web"
	missing := decode[problem](t, f.ask(t, http.MethodGet, path+"?revision=old,new"))
	const among = `"old" is known on this node among the latest 200 start-ups of the workload`
	if !strings.HasSuffix(missing.Reason, among) {
		t.Errorf("a revision before the latest start-ups: %q", missing.Reason)
	}
	got := decode[api.WorkloadRecord](t, f.ask(t, http.MethodGet, path))
	if got.Summary.StartUps.Measured != maxSummarized || got.Earlier != earlier || len(got.Summary.Revisions) != 1 ||
		got.Summary.Revisions[0].Name != "new" || !strings.HasSuffix(got.Verdict, "; without 5 earlier start-ups") {
		t.Errorf("%d start-ups, %d earlier, %+v, %s", got.Summary.StartUps.Measured, got.Earlier,
			got.Summary.Revisions, got.Verdict)
	}
}

// TestLargeStartUps requests a workload whose pods have many containers. The memory for the records must stay bounded.
func TestLargeStartUps(t *testing.T) {
	all := startUps(0, 50)
	for i := range all {
		all[i].Namespace, all[i].Owner.Name = "shop", "web"
		all[i].Pulls = slices.Repeat(all[i].Pulls, 1000/max(len(all[i].Pulls), 1))
	}
	f := &fake{timelines: all}
	got := decode[api.WorkloadRecord](t, f.ask(t, http.MethodGet, "/api/v1/workloads/shop/Deployment/web"))
	if n := got.Summary.StartUps.Measured; n < 1 || n > maxEntries/1000+1 || got.Earlier != len(all)-n {
		t.Errorf("%d start-ups, %d earlier", n, got.Earlier)
	}
}

// TestUnknownWorkload requests workloads and revisions that the agent does not know.
func TestUnknownWorkload(t *testing.T) {
	f := &fake{timelines: startuptest.RolledOut("first", "second")}
	for target, want := range map[string]string{
		"/shop/StatefulSet/db": "no start-up of StatefulSet shop/db is known on this node; known workloads of the " +
			"namespace: StatefulSet/web",
		"/shop/Deployment/web":                       "no start-up of Deployment shop/web is known on this node",
		"/other/StatefulSet/web":                     "no start-up of StatefulSet other/web is known on this node",
		"/shop/StatefulSet/web?revision=first,third": `with the revision "third" is known on this node`,
	} {
		response := f.ask(t, http.MethodGet, "/api/v1/workloads"+target)
		got := decode[problem](t, response)
		if response.Code != http.StatusNotFound || got.Error != "not_found" || !strings.Contains(got.Reason, want) {
			t.Errorf("%s: %d %+v, want %q", target, response.Code, got, want)
		}
	}
}

// TestWorkloadMatchesOpenAPI checks a response with every possible field set.
func TestWorkloadMatchesOpenAPI(t *testing.T) {
	var record api.WorkloadRecord
	startuptest.Fill(&record)
	text, err := api.EncodeLine(record)
	if err != nil {
		t.Fatal(err)
	}
	valid := strings.ReplaceAll(string(text), `"verdict":"x"`, `"verdict":"too_few"`)
	check(t, schemaOf(t, "components", "schemas", "Workload"), "all fields", []byte(valid))
}
