package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/fleetmetrics/fleetmetricstest"
	"github.com/podlapse/podlapse/internal/report"
)

// reportOf runs the command report with a Prometheus server, but without a kubeconfig and without agents.
func reportOf(t *testing.T, responses fleetmetricstest.Responses, args ...string) commandOutput {
	t.Helper()
	program := programOf(PluginProgram)
	program.Now = fleetmetricstest.Until
	args = append([]string{"report", "--prometheus", fleetmetricstest.Serve(t, responses).URL,
		"--since", "2h"}, args...)
	var stdout, stderr bytes.Buffer
	code := program.Run(t.Context(), args, environment{}.get, &stdout, &stderr)
	return commandOutput{code, stdout.String(), stderr.String()}
}

func TestReportFromPrometheus(t *testing.T) {
	const want = `1970-01-01 02:06 to 1970-01-01 04:06 UTC: 2 nodes, 41 start-ups (1 unsuccessful), 1 in progress. ` +
		`The successful start-ups took 186 s. 120 s of this time was lost, including random differences.
Note: Prometheus estimates numbers from scrapes, so the numbers can differ from the agents' numbers.

SECONDS LOST BY CAUSE
network: 120 s lost of 126 s; most on node worker-2 (120 s)

WORST NODES
node worker-2: 5.0 times slower than the other nodes; 120 s lost in 20 start-ups, most in network (120 s)

WORST REGISTRIES
registry quay.example: 8.7 times slower per byte than the other registries; 108 s lost in 20 pulls of 200.0 MiB; ` +
		`1 pull failed

WORST IMAGES
(the metrics do not name images: for images, run the command without --prometheus)

WORST WORKLOADS
`
	without := reportOf(t, fleetmetricstest.Fleet(false))
	const missing = "(the agents exported no metrics about workloads in this time: set --metrics-workloads=20 on the " +
		"agents)\n"
	if without.code != ExitOK || without.stdout != want+missing || without.stderr != "" {
		t.Errorf("exit %d, %s\n%s\nwant\n%s", without.code, without.stderr, without.stdout, want+missing)
	}
	with := reportOf(t, fleetmetricstest.Fleet(true))
	const web = "deployment shop/web: 4.0 times the time that the others need; 120 s lost in 30 start-ups, most in " +
		"network (100 s); 1 start-up unsuccessful\n" +
		"(10 start-ups are not assigned to a workload, because an agent reached the limit of --metrics-workloads)\n"
	if with.stdout != want+web {
		t.Errorf("got\n%s\nwant\n%s", with.stdout, want+web)
	}
}

func TestReportFromPrometheusFormats(t *testing.T) {
	var r report.Report
	text := reportOf(t, fleetmetricstest.Fleet(true), "-o", "json").stdout
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, part := range r.Parts() {
		for _, row := range part.Rows {
			rows++
			for _, format := range []string{"html", "yaml", "table"} {
				got := reportOf(t, fleetmetricstest.Fleet(true), "-o", format)
				got.must(t, ExitOK, row.Sentence, "")
			}
		}
	}
	if rows != 4 || r.NodeCount != 2 || r.StartUps != 41 {
		t.Errorf("%d rows: %+v", rows, r)
	}
}

func TestReportFromPrometheusFails(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	noRules := fleetmetricstest.Fleet(false)
	delete(noRules, "rule_hours")
	reportOf(t, noRules).must(t, ExitFailed, "", "count(podlapse:phase_cause:info)")
	starting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer starting.Close()
	runs(t, PluginProgram, environment{}, "report", "--prometheus="+starting.URL).must(t, ExitUnreachable, "",
		starting.URL+"/-/ready")
	for _, flag := range []string{"--node=worker-1", "--context=x", "--server=http://127.0.0.1:9717", "--as=me",
		"--kubeconfig=x", "--token-file=" + token} {
		name, _, _ := strings.Cut(flag, "=")
		reportOf(t, nil, flag).must(t, ExitUsage, "", "--prometheus cannot be combined with "+name)
	}
	server := clusterOf(t, shop())
	atNoon(t, server, "report", "--since=7d").must(t, ExitUsage, "", "at most 24h without --prometheus")
	atNoon(t, server, "report", "--prometheus-token-file="+token).must(t, ExitUsage, "", "requires --prometheus")
	unreachable := runs(t, PluginProgram, environment{}, "report", "--prometheus=http://user:s3cret@127.0.0.1:1",
		"--prometheus-token-file="+token)
	unreachable.must(t, ExitUnreachable, "", "port-forward")
	if strings.Contains(unreachable.stderr, "s3cret") || strings.Contains(unreachable.stderr, "user") {
		t.Errorf("the error contains credentials: %s", unreachable.stderr)
	}
}
