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

// TestRevisionByNumber selects revisions by their numbers. The command must get the numbers of all known revisions: the
// number of a single revision too, and the numbers of revisions that are older than the latest ten.
func TestRevisionByNumber(t *testing.T) {
	cluster, apps := withCheckout(shop()), checkoutApps()
	for k := range int64(12) {
		r := startUp(fmt.Sprint("orders-", k), "worker-1", "StatefulSet/orders", time.Duration(20-k)*time.Hour,
			phase{timeline.PhasePull, 5})
		r.Revision = fmt.Sprint("orders-", k)
		cluster[0].records = append(cluster[0].records, r)
		apps["shop/controllerrevisions/"+r.Revision] = map[string]any{"revision": k + 1}
	}
	server := clusterOf(t, cluster)
	server.SetApps(apps)
	for line, want := range map[string]struct {
		code           int
		stdout, stderr string
	}{
		"deploy/checkout --since 4h --revision 42": {ExitOK, "checkout, revision 42: 8 start-ups", ""},
		"deploy/checkout --since 4h --revision 41": {ExitNotFound, "",
			"in the period of --since has the revision 41: use one of these revisions: 42 (" + newHash + ")"},
		"sts/orders --revision 1":    {ExitOK, "shop/orders-0: ", ""},
		"sts/orders --revision 13":   {ExitNotFound, "", "of statefulset shop/orders has the revision 13"},
		"sts/orders --revision 12,1": {ExitOK, "too few", ""},
	} {
		got := atNoon(t, server, append([]string{"explain", "-n", "shop"}, strings.Fields(line)...)...)
		text := strings.Join(strings.Fields(got.stdout), " ")
		if got.code != want.code || !strings.Contains(text, want.stdout) || !strings.Contains(got.stderr, want.stderr) {
			t.Errorf("%s: exit %d, want %d with %q and %q\n%s%s", line, got.code, want.code, want.stdout, want.stderr,
				got.stdout, got.stderr)
		}
	}
}

// TestUnknownRevisionNumbers requires that the command does not deny a start-up of a revision if it does not know the
// number of every revision.
func TestUnknownRevisionNumbers(t *testing.T) {
	cluster := withCheckout(shop())
	server := clusterOf(t, cluster)
	explained := func(flags ...string) commandOutput {
		return atNoon(t, server, append([]string{"explain", "deploy/checkout", "-n", "shop"}, flags...)...)
	}
	names := "use one of these names: " + newHash + ", " + oldHash
	missing := func(name string, got commandOutput, code int, want ...string) {
		t.Helper()
		for _, text := range want {
			if got.code != code || !strings.Contains(got.stderr, text) {
				t.Errorf("%s: exit %d, want %d and %q\n%s", name, got.code, code, text, got.stderr)
			}
		}
		if strings.Contains(got.stderr, "no known start-up") || strings.Contains(got.stderr, "pods/proxy") {
			t.Errorf("%s: %s", name, got.stderr)
		}
	}
	apps := checkoutApps()
	delete(apps, "shop/replicasets/checkout-"+oldHash)
	server.SetApps(apps)
	missing("deleted", explained("--revision", "41"), ExitNotFound, "the numbers of some revisions are unknown: use "+
		"one of these revisions: 42 ("+newHash+"), "+oldHash)
	ofRevisions := func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/replicasets/") }
	server.Hang(ofRevisions)
	missing("no response", explained("--revision", "41", "--timeout", "1s"), ExitUnreachable, "cannot get the "+
		"revision numbers of deployment shop/checkout: get replicasets shop/checkout-", names)
	server.Refuse(func(r *http.Request) int {
		if ofRevisions(r) {
			return http.StatusForbidden
		}
		return 0
	})
	missing("forbidden", explained("--revision", oldHash+",42"), ExitForbidden, "Instead of the number 42, "+names,
		"ask an administrator for the permission")
	explained("--revision", oldHash).must(t, ExitOK, "revision "+oldHash+": 8 start-ups", "")
	if got := explained("--revision", "x"); got.code != ExitNotFound || !strings.Contains(got.stderr, "no known") {
		t.Errorf("exit %d: %s", got.code, got.stderr)
	}
	local := httptest.NewServer(cluster[0])
	defer local.Close()
	missing("--server", runs(t, AgentProgram, environment{}, "explain", "deploy/checkout", "-n", "shop", "--server",
		local.URL, "--revision", "41"), ExitFailed, "with --server, the command does not query the API server", names)
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
