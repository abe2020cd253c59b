// Package fleetmetricstest contains a Prometheus server for tests. The server responds to the queries of package
// fleetmetrics. Tests call the package on their own goroutine. The server runs on other goroutines until the test ends.
package fleetmetricstest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

// queries contains the queries of one report, one query per line. The period of the report ends at the time Until() and
// has the length Length. With the flag -update, the tests of package fleetmetrics write queries.txt.
//
//go:embed queries.txt
var queries string

// Length is the length of the report's period. The server knows only the queries for this report.
const Length = 2 * time.Hour

// Until returns the end of the report's period. The server knows only the queries for this report.
func Until() time.Time { return time.Unix(246*60, 0).UTC() }

// Responses contains the samples in the result of each query. The key is the name of the query. If Responses does not
// contain a query, the result of the query is empty.
type Responses map[string][]Sample

// Sample is one sample in the result of a query. Labels contains the name of each label, followed by its value, for
// example "node", "worker-1".
type Sample struct {
	Value  float64
	Labels []string
}

// Of returns a sample with the given value and labels. The argument "labels" has the form of Sample.Labels.
func Of(value float64, labels ...string) Sample { return Sample{value, labels} }

// Fleet returns responses that describe a fleet with two nodes. The network of worker-2 is slow, and the registry
// quay.example is slow. If the argument "workloads" is true, the responses contain the metrics of workloads.
func Fleet(workloads bool) Responses {
	responses := Responses{
		"rule_hours": {Of(2)}, "nodes": {Of(2)}, "in_progress": {Of(1)},
		"start_ups":     {Of(39.75, "state", "ready"), Of(1.25, "state", "failed")},
		"cause_seconds": {Of(126, "cause", "network"), Of(60, "cause", "registry")},
		"cause_lost":    {Of(120, "cause", "network"), Of(0, "cause", "registry")},
		"cause_most": {Of(120, "cause", "network", "node", "worker-2"),
			Of(0, "cause", "registry", "node", "worker-1")},
		"node_expected": {Of(90, "node", "worker-1"), Of(30, "node", "worker-2")},
		"node_lost":     {Of(-60, "node", "worker-1"), Of(120, "node", "worker-2")},
		"node_most": {Of(1, "node", "worker-1", "work", "volumes"),
			Of(121, "node", "worker-2", "work", "network")},
		"node_start_ups": {Of(20, "node", "worker-1"), Of(19.9, "node", "worker-2")},
		"registry_observed": {Of(14, "registry", "docker.io"), Of(122, "registry", "quay.example"),
			Of(900, "registry", "other")},
		"registry_expected": {Of(20, "registry", "docker.io"), Of(14, "registry", "quay.example"),
			Of(1, "registry", "other")},
		"registry_pulls":    {Of(20, "registry", "docker.io"), Of(20, "registry", "quay.example")},
		"registry_bytes":    {Of(200<<20, "registry", "docker.io"), Of(200<<20, "registry", "quay.example")},
		"registry_failures": {Of(1, "registry", "quay.example")},
	}
	if !workloads {
		return responses
	}
	web := []string{"namespace", "shop", "workload_kind", "Deployment", "workload", "web"}
	other := []string{"namespace", "", "workload_kind", "", "workload", "other"}
	responses["workload_series"], responses["workload_hours"] = []Sample{Of(2)}, []Sample{Of(2)}
	responses["workload_start_ups"] = []Sample{Of(30, web...), Of(10, other...)}
	responses["workload_failures"] = []Sample{Of(1, web...)}
	responses["workload_seconds"] = []Sample{Of(160, web...), Of(900, other...)}
	responses["workload_lost"] = []Sample{Of(120, web...), Of(800, other...)}
	responses["workload_most"] = []Sample{Of(100, append(web[:len(web):len(web)], "cause", "network")...)}
	return responses
}

// Serve starts a server that stops when the test ends.
func Serve(t testing.TB, responses Responses) *httptest.Server {
	names := map[string]string{}
	for line := range strings.Lines(queries) {
		name, expr, _ := strings.Cut(strings.TrimSpace(line), ": ")
		names[expr] = name
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, known := names[r.FormValue("query")]
		at := strconv.FormatInt(Until().Unix(), 10)
		_, err := model.ParseDuration(r.FormValue("timeout"))
		w.Header().Set("Content-Type", "application/json")
		if !known || err != nil || r.FormValue("time") != at || r.URL.Path != "/api/v1/query" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"status":"error","errorType":"bad_data","error":"invalid time, timeout or query"}`)
			return
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":%s}}`,
			encodeSamples(responses[name], at))
	}))
	t.Cleanup(server.Close)
	return server
}

// encodeSamples returns samples in the JSON format of Prometheus' HTTP API.
func encodeSamples(samples []Sample, at string) []byte {
	type result struct {
		Metric map[string]string `json:"metric"`
		Value  [2]any            `json:"value"`
	}
	all := []result{}
	for _, s := range samples {
		labels := map[string]string{}
		for i := 0; i+1 < len(s.Labels); i += 2 {
			labels[s.Labels[i]] = s.Labels[i+1]
		}
		all = append(all, result{labels, [2]any{json.Number(at), strconv.FormatFloat(s.Value, 'g', -1, 64)}})
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // never happens: JSON can represent all values
	}
	return text
}
