package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Revisions of the Deployment checkout, with their numbers in checkoutApps.
const (
	oldHash = "6f6c9d5b4"
	newHash = "7d4b9c8f6"
)

// withCheckout adds the Deployment checkout to the cluster, with eight start-ups of each revision. The new revision
// takes 6.1 s longer to pull and 2.0 s longer until ready. All start-ups ended hours ago, so that only the command
// explain shows them.
func withCheckout(cluster []*fakeAgent) []*fakeAgent {
	for k := range 8 {
		spread := float64(k) / 10
		agent := cluster[2*(k%2)]
		add := func(hash string, hours int, pull, ready float64, size int64) {
			name := fmt.Sprintf("checkout-%s-%c", hash, 'a'+k)
			r := startUp(name, agent.node, "Deployment/checkout", time.Duration(hours)*time.Hour,
				phase{timeline.PhaseScheduling, 0.1}, phase{timeline.PhaseVolumes, 0.4},
				phase{timeline.PhaseNetwork, 0.2}, phase{timeline.PhasePull, pull + spread},
				phase{timeline.PhaseReadinessProbe, ready + spread})
			r.Revision = hash
			agent.records = append(agent.records, pulled(r, "registry.example", pull+spread, size))
		}
		add(oldHash, 20, 5.0, 1.5, 310)
		add(newHash, 3, 11.1, 3.5, 742)
	}
	failed := startUp("checkout-"+newHash+"-x", "worker-1", "Deployment/checkout", 3*time.Hour,
		phase{timeline.PhasePull, 90})
	failed.Revision, failed.State = newHash, timeline.StateFailed
	cluster[0].records = append(cluster[0].records, failed)
	return cluster
}

func checkoutApps() map[string]any {
	replicaSet := func(number string) any {
		return map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{"deployment.kubernetes.io/revision": number}}}
	}
	return map[string]any{
		"shop/replicasets/checkout-" + oldHash: replicaSet("41"),
		"shop/replicasets/checkout-" + newHash: replicaSet("42"),
	}
}

// TestWorkload selects start-ups and revisions of a Deployment.
func TestWorkload(t *testing.T) {
	server := clusterOf(t, withCheckout(shop()))
	server.SetApps(checkoutApps())
	const more = "more than the noise of 8 and 8 start-ups"
	for line, want := range map[string][]string{
		"deploy/checkout": {"deployment shop/checkout: 16 start-ups", "not included: 1 failed",
			"revision 42 takes 8.1 s longer than 41: +6.1 s pulling (image", "+2.0 s until ready", more,
			"\nshop/checkout-" + newHash + "-h: "},
		"deploy checkout --revision 42,41":                      {"41 takes 8.1 s less than 42: -6.1 s pulling"},
		"deploy/checkout --revision " + oldHash + "," + newHash: {"revision 42 takes 8.1 s longer than 41"},
		"deploy/checkout --revision 41":                         {"checkout, revision 41: 8 start-ups"},
		"deploy/checkout --since 4h":                            {"checkout: 8 start-ups", "not included: 1 failed"},
		"deploy/checkout --sort-by duration":                    {"NODE", "checkout-" + newHash + "-x"},
		"deploy/checkout --revision 41 -o name":                 {"pod/checkout-" + oldHash + "-a\n"},
	} {
		got := atNoon(t, server, append([]string{"explain", "-n", "shop"}, strings.Fields(line)...)...)
		text := strings.Join(strings.Fields(got.stdout), " ")
		for _, part := range want {
			if got.code != ExitOK || !strings.Contains(got.stdout, part) && !strings.Contains(text, part) {
				t.Errorf("%s: exit %d, no %q in\n%s%s", line, got.code, part, got.stdout, got.stderr)
			}
		}
		list := strings.Contains(line, "-o name") || strings.Contains(line, "--sort-by")
		if strings.Contains(got.stdout, "MEAN BY CAUSE") == list {
			t.Errorf("%s: want either the list or the summary:\n%s", line, got.stdout)
		}
		if strings.Contains(line, "-o name") && strings.Count(got.stdout, "\n") != 8 {
			t.Errorf("%s:\n%s", line, got.stdout)
		}
	}
}

func TestWorkloadFitsTerminal(t *testing.T) {
	server := clusterOf(t, withCheckout(shop()))
	server.SetApps(checkoutApps())
	got := atNoon(t, server, "explain", "deploy/checkout", "-n", "shop", "--width=80", "--color=never")
	for line := range strings.Lines(got.stdout) {
		if cells := terminal.Cells(strings.TrimSuffix(line, "\n")); cells > 80 {
			t.Errorf("%d columns: %s", cells, line)
		}
	}
}

// TestWorkloadWithoutNumbers has users who cannot read ReplicaSets, and ReplicaSets that Kubernetes has deleted.
func TestWorkloadWithoutNumbers(t *testing.T) {
	server := clusterOf(t, withCheckout(shop()))
	named := "revision " + newHash + " takes 8.1 s longer than " + oldHash + ":"
	explained := func() string {
		got := atNoon(t, server, "explain", "deploy/checkout", "-n", "shop")
		if got.code != ExitOK || got.stderr != "" {
			t.Errorf("exit %d: %s", got.code, got.stderr)
		}
		return strings.Join(strings.Fields(got.stdout), " ")
	}
	if text := explained(); !strings.Contains(text, named) {
		t.Errorf("no ReplicaSets: no %q in\n%s", named, text)
	}
	server.SetApps(checkoutApps())
	server.Refuse(func(r *http.Request) int {
		if strings.HasSuffix(r.URL.Path, oldHash) {
			return http.StatusForbidden
		}
		return 0
	})
	if text := explained(); !strings.Contains(text, named) {
		t.Errorf("one number is forbidden: no %q in\n%s", named, text)
	}
}

func TestWorkloadRefusesFlags(t *testing.T) {
	server := clusterOf(t, withCheckout(shop()))
	server.SetApps(checkoutApps())
	for line, want := range map[string]struct {
		code int
		text string
	}{
		"pod/x --since 1h":                         {ExitUsage, "--since cannot be combined with the name of a pod"},
		"--revision 41":                            {ExitUsage, "--revision requires one workload"},
		"node/worker-1 --revision 41":              {ExitUsage, "--revision requires one workload"},
		"deploy/a deploy/b --revision 41":          {ExitUsage, "--revision requires one workload"},
		"deploy/checkout --revision 41 -w":         {ExitUsage, "--revision and --watch cannot be combined"},
		"deploy/checkout --revision 41,42,43":      {ExitUsage, "must be one revision, or two revisions"},
		"deploy/checkout --revision 41,41":         {ExitUsage, "must be two different revisions"},
		"deploy/checkout --revision 41,":           {ExitUsage, "must be one revision, or two revisions"},
		"deploy/checkout --revision 41," + oldHash: {ExitFailed, "names revision " + oldHash + " twice"},
		"deploy/checkout --revision 43": {ExitNotFound, "has the revision 43: use one of these revisions: 42 (" +
			newHash + "), 41 (" + oldHash + ")"},
		"deploy/checkout --since 1h": {ExitNotFound, "set a longer --since"},
	} {
		got := atNoon(t, server, append([]string{"explain", "-n", "shop"}, strings.Fields(line)...)...)
		if got.code != want.code || !strings.Contains(got.stderr, want.text) {
			t.Errorf("%s: exit %d, want %d and %q\n%s", line, got.code, want.code, want.text, got.stderr)
		}
	}
}

// TestSameRevisionTwiceIsUsage requires that the command queries no agent, and that the error does not blame --server.
func TestSameRevisionTwiceIsUsage(t *testing.T) {
	got := runs(t, PluginProgram, environment{}, "explain", "deploy/checkout", "-n", "shop", "--revision", "aaa,aaa",
		"--server", "http://"+agentstest.ClosedAddress(t))
	got.must(t, ExitUsage, "", `--revision: invalid revisions "aaa,aaa": must be two different revisions`)
	if strings.Contains(got.stderr, "--server") {
		t.Errorf("%s", got.stderr)
	}
}

// TestWorkloadJSON requires the list of records that the command prints for each list, and the summary.
func TestWorkloadJSON(t *testing.T) {
	server := clusterOf(t, withCheckout(shop()))
	server.SetApps(checkoutApps())
	got := atNoon(t, server, "explain", "deploy/checkout", "-n", "shop", "-o", "json")
	var list struct {
		Items   []api.Record        `json:"items"`
		Summary api.WorkloadSummary `json:"summary"`
	}
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil {
		t.Fatal(err)
	}
	c := list.Summary.Comparison
	if len(list.Items) != 17 || list.Summary.StartUps.Measured != 16 || c == nil || c.From != oldHash ||
		c.Difference.Verdict != api.MoreThanNoise || list.Summary.Revisions[0].Number != 42 {
		t.Errorf("%d items, %+v", len(list.Items), list.Summary)
	}
	yaml := atNoon(t, server, "explain", "deploy/checkout", "-n", "shop", "-o", "yaml").stdout
	for _, want := range []string{"items:\n", "\nsummary:\n", "verdict: more_than_noise\n"} {
		if !strings.Contains(yaml, want) {
			t.Errorf("no %q in the YAML", want)
		}
	}
}

// TestNumbersAreRequestedOnlyForRevisions requires that a workload with one revision causes no request for its number.
func TestNumbersAreRequestedOnlyForRevisions(t *testing.T) {
	server := clusterOf(t, shop())
	atNoon(t, server, "explain", "deploy/web", "-n", "shop")
	for _, path := range server.Asked() {
		if strings.HasPrefix(path, "/apis/") {
			t.Errorf("request %s", path)
		}
	}
}

// TestLargeWorkload has 500 start-ups of 60 workloads. The command must respond within two seconds.
func TestLargeWorkload(t *testing.T) {
	agent := &fakeAgent{node: "worker-1"}
	for k := range 500 {
		r := startUp(fmt.Sprintf("p-%d", k), "worker-1", fmt.Sprintf("Deployment/w-%d", max(0, k-440)),
			time.Duration(k+1)*time.Second, phase{timeline.PhasePull, float64(k%7) + 3},
			phase{timeline.PhaseVolumes, 1})
		r.Revision = fmt.Sprint("r", k%2)
		agent.records = append(agent.records, r)
	}
	local := httptest.NewServer(agent)
	defer local.Close()
	server := agentstest.Start(t, agentOn("worker-1", local.URL))
	began := time.Now()
	got := atNoon(t, server, "explain", "deploy/w-0", "-n", "shop")
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the command took %s", took)
	}
	got.must(t, ExitOK, "deployment shop/w-0: 441 start-ups", "")
}
