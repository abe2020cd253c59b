package web

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/internal/whatif"
	"github.com/podlapse/podlapse/internal/workload"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// rolledOut returns four start-ups of each revision of the workload shop/StatefulSet/web. The start-ups of each revision
// take five seconds longer than the start-ups of the revision before, because their application is ready later.
func rolledOut(revisions ...string) (all []timeline.Timeline) {
	for i, revision := range revisions {
		for k := range 4 {
			t := startuptest.Predictable(fmt.Sprintf("web-%s-%d", revision, k))
			t.Revision = revision
			last := &t.Phases[len(t.Phases)-1]
			later := time.Duration(i)*5*time.Second + time.Duration(k)*10*time.Millisecond
			last.EndAt, t.Total = last.EndAt.Add(later), t.Total+later
			t.CreatedAt = t.CreatedAt.Add(time.Duration(i) * time.Hour)
			all = append(all, t)
		}
	}
	return all
}

// TestWorkload compares the response with the summary and the predictions of the same records. Some pods exist, and the
// other pods are in the history. Pods of other workloads do not count.
func TestWorkload(t *testing.T) {
	const path = "/api/v1/workloads/shop/StatefulSet/web"
	all := rolledOut("first", "second", "third")
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
	for query, compare := range map[string][]string{"": {"second", "third"}, "?revision=first,third": {"first", "third"},
		"?revision=third,second": {"third", "second"}} {
		answer := f.ask(t, http.MethodGet, path+query)
		check(t, schema, query, answer.Body.Bytes())
		got := decode[api.WorkloadRecord](t, answer)
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

// TestUnknownWorkload requests workloads and revisions that the agent does not know.
func TestUnknownWorkload(t *testing.T) {
	f := &fake{timelines: rolledOut("first", "second")}
	for target, want := range map[string]string{
		"/shop/StatefulSet/db":                       "no start-up of StatefulSet shop/db is known on this node",
		"/shop/Deployment/web":                       "no start-up of Deployment shop/web is known on this node",
		"/other/StatefulSet/web":                     "no start-up of StatefulSet other/web is known on this node",
		"/shop/StatefulSet/web?revision=first,third": `with the revision "third" is known on this node`,
	} {
		answer := f.ask(t, http.MethodGet, "/api/v1/workloads"+target)
		got := decode[problem](t, answer)
		if answer.Code != http.StatusNotFound || got.Error != "not_found" || !strings.Contains(got.Reason, want) {
			t.Errorf("%s: %d %+v, want %q", target, answer.Code, got, want)
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
