package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/report"
	"github.com/podlapse/podlapse/pkg/api"
)

// TestReportFormats compares the formats with each other. In the cluster, the network of node worker-2 and the registry
// quay.example are slow, and one pod of the workload cart waits for its pull.
func TestReportFormats(t *testing.T) {
	server := clusterOf(t, shop())
	text := atNoon(t, server, "report")
	text.must(t, ExitOK, "node worker-2: 6.2 times slower than the other nodes; 38 s lost in 6 start-ups, most in "+
		"network",
		"")
	var r report.Report
	if err := json.Unmarshal([]byte(atNoon(t, server, "report", "-o", "json").stdout), &r); err != nil {
		t.Fatal(err)
	}
	page := atNoon(t, server, "report", "-o", "html")
	yaml := atNoon(t, server, "report", "-o", "yaml")
	rows := 0
	for _, part := range r.Parts() {
		for _, row := range part.Rows {
			rows++
			for format, output := range map[string]string{"text": text.stdout, "html": page.stdout,
				"yaml": yaml.stdout} {
				if !strings.Contains(output, row.Sentence) {
					t.Errorf("%s lacks the sentence %q:\n%s", format, row.Sentence, output)
				}
			}
		}
	}
	if rows < 8 || r.StartUps != 18 || r.InProgress != 1 || len(r.Nodes.Rows) != 1 || len(r.Notes) > 0 {
		t.Errorf("%d rows: %+v", rows, r)
	}
	if !strings.HasPrefix(page.stdout, "<!DOCTYPE html>") || page.code != ExitOK || page.stderr != "" {
		t.Errorf("exit %d, %s\n%s", page.code, page.stderr, page.stdout)
	}
	narrow := atNoon(t, server, "report", "--width", "60", "--rows", "1")
	for line := range strings.SplitSeq(narrow.stdout, "\n") {
		if len(line) > 60 {
			t.Errorf("a line of %d cells: %s", len(line), line)
		}
	}
	if !strings.Contains(narrow.stdout, "more: set --rows)") {
		t.Errorf("rows are missing without a note:\n%s", narrow.stdout)
	}
}

// TestReportStatesItsPeriod requires that the stated period contains all counted start-ups. The sums of agents cover
// whole hours, and agents without sums must count the same start-ups.
func TestReportStatesItsPeriod(t *testing.T) {
	cluster := shop()
	old := *cluster[0]
	old.refusal = &api.Problem{Error: "not_found", Reason: "no sums for you"}
	for nodes, agents := range map[string][]*fakeAgent{"3 nodes": cluster,
		"3 nodes (1 with incomplete data)": append([]*fakeAgent{&old}, cluster[1:]...)} {
		server := clusterOf(t, agents)
		for format, want := range map[string]string{
			"table": "2026-03-02 11:00 to 2026-03-02 12:00 UTC: " + nodes + ", 18 start-ups (0 unsuccessful)",
			"html":  "2026-03-02 11:00 to 2026-03-02 12:00 UTC: " + nodes + ", 18 start-ups (0 unsuccessful)",
			"json":  `"since": "2026-03-02T11:00:00`,
			"yaml":  `since: "2026-03-02T11:00:00`,
		} {
			got := atNoon(t, server, "report", "--since", "6m", "-o", format)
			if !strings.Contains(got.stdout, want) || !strings.Contains(got.stdout, "18 start-ups (0 unsuccessful)") {
				t.Errorf("%s, %s: no %q in\n%s", nodes, format, want, got.stdout)
			}
		}
	}
}

// TestReportOfRestartedAgents has agents whose sums begin within the period. The first line of the report must state
// since when the data is complete.
func TestReportOfRestartedAgents(t *testing.T) {
	cluster := shop()
	cluster[0].began, cluster[2].began = noon.Add(-20*time.Minute), noon.Add(-2*time.Hour)
	server := clusterOf(t, cluster)
	const want = "2026-03-01 12:00 to 2026-03-02 12:00 UTC: " +
		"3 nodes (2 with data only since 2026-03-02 11:40 or earlier), 18 start-ups (0 unsuccessful)"
	for format, since := range map[string]string{"table": "", "html": "",
		"json": `"complete_since": "2026-03-02T11:40:00`, "yaml": `complete_since: "2026-03-02T11:40:00`} {
		got := atNoon(t, server, "report", "--width=1000", "-o", format)
		got.must(t, ExitOK, want, "")
		got.must(t, ExitOK, "2 nodes have sums for only a part of this time", "")
		got.must(t, ExitOK, since, "")
	}
}

// TestReportOfLimitedAgents has an agent that does not respond, and agents of a version without sums. The report must
// state both.
func TestReportOfLimitedAgents(t *testing.T) {
	cluster := shop()
	for _, reason := range []string{"not_found", "forbidden"} {
		limited := slices.Clone(cluster)
		agent := *cluster[0]
		agent.refusal = &api.Problem{Error: reason, Reason: "no sums for you"}
		limited[0] = &agent
		got := atNoon(t, clusterOf(t, limited), "report")
		got.must(t, ExitOK, "Note: 1 node has sums for only a part of this time", "")
		if !strings.Contains(got.stdout, "3 nodes (1 with incomplete data), 18 start-ups") {
			t.Errorf("%s: the records were not read:\n%s", reason, got.stdout)
		}
	}
	broken := slices.Clone(cluster)
	agent := *cluster[1]
	agent.refusal = &api.Problem{Error: "unavailable", Reason: "stopping"}
	broken[1] = &agent
	server := clusterOf(t, broken)
	for _, format := range []string{"table", "html", "json", "yaml"} {
		got := atNoon(t, server, "report", "-o", format)
		got.must(t, ExitPartial, "the report lacks 1 agent without a valid response: worker-2", "node worker-2")
	}
}

// TestReportOfImpossibleSums has an agent with impossible sums, and an old agent with impossible records. The report
// must omit both agents and name them.
func TestReportOfImpossibleSums(t *testing.T) {
	want := atNoon(t, clusterOf(t, shop()[2:]), "report", "-o", "json")
	cluster := shop()
	old := cluster[1]
	old.refusal = &api.Problem{Error: "not_found", Reason: "no sums for you"}
	old.records[0].Total = api.Seconds(-time.Hour)
	server := clusterOf(t, cluster)
	hostile := agentOn("worker-1", "")
	hostile.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"node":"worker-1","totals":{"ended":1},"items":[{"kind":"image","image":"web",`+
			`"pulls":{"pulls":-9223372036854775807}}]}`)
	})
	server.Replace(hostile)
	got := atNoon(t, server, "report", "-o", "json")
	got.must(t, ExitPartial, "the report lacks 2 agents without a valid response: worker-1, worker-2",
		`node worker-1: the agent sent invalid sums: image "web" has pulls -9223372036854775807: `+
			`must be 0 to 1000000000. Check`)
	got.must(t, ExitPartial, "", "node worker-2: the agent sent invalid records: pod ")
	var report, alone report.Report
	if err := errors.Join(json.Unmarshal([]byte(got.stdout), &report),
		json.Unmarshal([]byte(want.stdout), &alone)); err != nil {
		t.Fatal(err)
	}
	if report.Summary != alone.Summary || report.NodeCount != 1 {
		t.Errorf("got %q, want %q", report.Summary, alone.Summary)
	}
}

func TestReportFlags(t *testing.T) {
	server := clusterOf(t, shop())
	for flag, want := range map[string]string{
		"--since=25h": "must be at most 24h", "--since=0s": "must be at most 24h", "--rows=0": "must be 1 to 1000",
		"--rows=1001": "must be 1 to 1000", "--namespace=shop": "do not belong to a namespace", "--output=wide": "html",
		"--prometheus=9090": "invalid URL", "--prometheus-token-file=/": "is a directory",
	} {
		atNoon(t, server, "report", flag).must(t, ExitUsage, "", want)
	}
	atNoon(t, server, "report", "-A").must(t, ExitOK, "WORST NODES", "")
}

// TestReportDocument compares the example in docs/report.md with the output.
func TestReportDocument(t *testing.T) {
	const file = "../../docs/report.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := example.ReplaceAllStringFunc(string(text), func(block string) string {
		line := example.FindStringSubmatch(block)[1]
		return "```console\n$ kubectl podlapse " + line + "\n" +
			atNoon(t, clusterOf(t, shop()), strings.Fields(line)...).stdout + "```"
	})
	if *update {
		err = os.WriteFile(file, []byte(got), 0o600)
	}
	if err != nil || !*update && got != string(text) {
		t.Errorf("the example of %s has another output: run go test ./internal/cli -update (%v)", file, err)
	}
}
