package web

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

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
		means, unknown := whatif.Means(records)
		for i := range want.Revisions {
			want.Revisions[i].Containers = nil // JSON does not contain the containers
		}
		if got.Node != "node-1" || got.Namespace != "shop" || got.Owner.Name != "web" ||
			!reflect.DeepEqual(got.Summary, want) || !reflect.DeepEqual(got.WhatIf, means) ||
			!slices.Equal(got.WhatIfUnknown, unknown) {
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

// TestOneRevision requests one revision of a workload. The response must cover only the start-ups of this revision, and
// contain no comparison.
func TestOneRevision(t *testing.T) {
	all := startuptest.RolledOut("first", "second", "third")
	f := &fake{timelines: all[6:], gone: all[:6]}
	var records []api.Record
	for _, startUp := range all {
		if startUp.Revision == "second" {
			records = append(records, api.NewRecord(startUp))
		}
	}
	response := f.ask(t, http.MethodGet, "/api/v1/workloads/shop/StatefulSet/web?revision=second")
	check(t, schemaOf(t, "components", "schemas", "Workload"), "one revision", response.Body.Bytes())
	got := decode[api.WorkloadRecord](t, response)
	means, _ := whatif.Means(records)
	if s := got.Summary; s.StartUps.Measured != len(records) || len(records) >= len(all) || len(s.Revisions) != 1 ||
		s.Revisions[0].Name != "second" || s.Comparison != nil || !reflect.DeepEqual(got.WhatIf, means) {
		t.Errorf("%+v, want only the %d start-ups of the second revision", got, len(records))
	}
}

// TestNamesOfKinds requests a workload with the names that kubectl accepts for its kind.
func TestNamesOfKinds(t *testing.T) {
	f := &fake{timelines: startuptest.RolledOut("first", "second")}
	want := f.ask(t, http.MethodGet, "/api/v1/workloads/shop/StatefulSet/web").Body.String()
	for _, kind := range []string{"statefulset", "STATEFULSET", "statefulsets", "sts", "statefulsets.apps"} {
		got := f.ask(t, http.MethodGet, "/api/v1/workloads/shop/"+kind+"/web")
		if got.Code != http.StatusOK || got.Body.String() != want {
			t.Errorf("%s: got %d %s, want %s", kind, got.Code, got.Body, want)
		}
		list := decode[api.PodList](t, f.ask(t, http.MethodGet, "/api/v1/pods?owner="+kind+"/web"))
		if len(list.Items) != len(f.timelines) {
			t.Errorf("%s: the filter owner matches %d of %d start-ups", kind, len(list.Items), len(f.timelines))
		}
	}
}

// TestLongestNames requests a workload whose namespace and owner have the longest names that Kubernetes accepts.
func TestLongestNames(t *testing.T) {
	namespace, owner := strings.Repeat("n", 63), strings.Repeat("o", 253)
	pod := startuptest.Predictable("web-0")
	pod.Namespace, pod.Owner.Name = namespace, owner
	f := &fake{timelines: []timeline.Timeline{pod}}
	target := "/api/v1/workloads/" + namespace + "/StatefulSet/" + owner
	got := decode[api.WorkloadRecord](t, f.ask(t, http.MethodGet, target))
	if got.Owner.Name != owner || got.Namespace != namespace {
		t.Errorf("%+v", got)
	}
	list := decode[api.PodList](t, f.ask(t, http.MethodGet, "/api/v1/pods?owner=sts/"+owner))
	if len(list.Items) != 1 {
		t.Errorf("the filter owner matches %d start-ups", len(list.Items))
	}
	missing := decode[problem](t, f.ask(t, http.MethodGet, target+"?revision=a,b"))
	if !strings.Contains(missing.Reason, namespace+"/"+owner+" with the revision") {
		t.Errorf("%q", missing.Reason)
	}
}

// TestNearestWorkloads requests workloads that do not exist. The error must first name the workloads with the same or
// a similar name, even if the agent knows many other workloads.
func TestNearestWorkloads(t *testing.T) {
	all := startUps(0, 10)
	for i := range all {
		all[i].Namespace, all[i].Owner.Name = "shop", fmt.Sprintf("other-%d", i)
		all[i].CreatedAt = firstStart.Add(time.Hour)
	}
	near := startuptest.Predictable("web-0") // StatefulSet shop/web
	near.CreatedAt = firstStart
	f := &fake{timelines: append(all, near)}
	for _, target := range []string{"/shop/deploy/web", "/shop/StatefulSet/Web", "/shop/StatefulSet/web-0",
		"/shop/StatefulSet/we"} {
		got := decode[problem](t, f.ask(t, http.MethodGet, "/api/v1/workloads"+target))
		_, known, _ := strings.Cut(got.Reason, "known workloads of the namespace: ")
		if !strings.HasPrefix(known, "StatefulSet/web, Deployment/other-") || strings.Count(known, "/") != maxHints {
			t.Errorf("%s: %q", target, got.Reason)
		}
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
	const among = `"old" is known on this node among the latest 200 start-ups of the workload; known revisions: new`
	if !strings.HasSuffix(missing.Reason, among) {
		t.Errorf("a revision before the latest start-ups: %q", missing.Reason)
	}
	got := decode[api.WorkloadRecord](t, f.ask(t, http.MethodGet, path+"?revision=old"))
	if got.Summary.StartUps.Measured != earlier || got.Earlier != 0 {
		t.Errorf("%d start-ups of an old revision, %d earlier", got.Summary.StartUps.Measured, got.Earlier)
	}
	got = decode[api.WorkloadRecord](t, f.ask(t, http.MethodGet, path))
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
		"/shop/Deployment/web":   "no start-up of Deployment shop/web is known on this node",
		"/other/StatefulSet/web": "no start-up of StatefulSet other/web is known on this node",
		"/shop/b/c": "no start-up of b shop/c is known on this node; known workloads of the namespace: " +
			`StatefulSet/web; the kind "b" must be Deployment, StatefulSet, DaemonSet, ReplicaSet, ` +
			"ReplicationController, Job, CronJob, or the kind of a custom resource that owns pods",
		"/shop/StatefulSet/web?revision=first,third": `with the revision "third" is known on this node` +
			"; known revisions: second, first",
		"/shop/statefulset/web?revision=third": `no start-up of StatefulSet shop/web with the revision "third" is ` +
			"known on this node; known revisions: second, first",
		"/shop/StatefulSet/db?revision=first": "no start-up of StatefulSet shop/db is known on this node; known",
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
