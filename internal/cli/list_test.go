package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestResources names resources in kubectl's forms. Each row contains the pods that the command must show, in any
// order.
func TestResources(t *testing.T) {
	server := clusterOf(t, shop())
	for _, test := range []struct{ args, want string }{
		{"cart-0 -n shop", ""}, // no pod has this name, because a pod's name ends with the node's letter
		{"cart-a -n shop", "pod/cart-a"},
		{"pod/cart-a -n shop", "pod/cart-a"},
		{"pods cart-a cart-b -n shop", "pod/cart-a pod/cart-b"},
		{"cart-a cart-b -n shop", "pod/cart-a pod/cart-b"},
		{"shop/cart-a", "pod/cart-a"},
		{"shop/cart-a -n shop", "pod/cart-a"},
		{"deploy/web -n shop",
			"pod/web-7d4b9-x2x8a pod/web-7d4b9-lq5ta pod/web-7d4b9-x2x8b pod/web-7d4b9-lq5tb pod/web-7d4b9-x2x8c " +
				"pod/web-7d4b9-lq5tc"},
		{"deployments.apps auth -n shop", "pod/auth-6f6c-9zvwa pod/auth-6f6c-9zvwb pod/auth-6f6c-9zvwc"},
		{"deployment.apps/auth -n shop", "pod/auth-6f6c-9zvwa pod/auth-6f6c-9zvwb pod/auth-6f6c-9zvwc"},
		{"Deployment.v1.apps/auth -n shop", "pod/auth-6f6c-9zvwa pod/auth-6f6c-9zvwb pod/auth-6f6c-9zvwc"},
		{"pods.v1./cart-a -n shop", "pod/cart-a"},
		{"deployment.example.com/auth -n shop", ""}, // another resource, which has no start-ups
		{"deployment.apps/v1/auth -n shop", ""},
		{"rs/auth-6f6c -n shop", "pod/auth-6f6c-9zvwa pod/auth-6f6c-9zvwb pod/auth-6f6c-9zvwc"},
		{"sts/mail sts/feed -n shop", "pod/mail-a pod/mail-b pod/mail-c pod/feed-a pod/feed-b pod/feed-c"},
		{"node/worker-2 -n shop --sort-by name", "pod/auth-6f6c-9zvwb pod/cart-b pod/feed-b pod/mail-b " +
			"pod/web-7d4b9-lq5tb pod/web-7d4b9-x2x8b"},
	} {
		got := atNoon(t, server, append(append([]string{"explain"}, strings.Fields(test.args)...), "-o", "name")...)
		if joined := strings.Join(strings.Fields(got.stdout), " "); joined != test.want ||
			(got.code == ExitOK) != (test.want != "") {
			t.Errorf("%s: exit %d, %s, want %s\n%s", test.args, got.code, joined, test.want, got.stderr)
		}
	}
}

// TestPodsOfJobs has names of pods that Kubernetes shortened, and two Jobs of one CronJob.
func TestPodsOfJobs(t *testing.T) {
	long := strings.Repeat("x", 57)
	agent := &fakeAgent{node: "worker-1", labels: map[string]string{}}
	add := func(pod, owner, job string) {
		record := startUp(pod, "worker-1", owner, time.Minute, phase{timeline.PhasePull, 1})
		agent.records = append(agent.records, record)
		agent.labels[pod] = "job-name=" + job
	}
	indexed := long[:54] + "-12-abcde" // the Job controller shortens the name to make room for the index
	add(indexed, "Job/"+long, long)
	add(long[:54]+"-13-abcde", "Job/"+long[:54]+"yyy", long[:54]+"yyy")
	add("backup-29000000-4-abcde", "CronJob/backup", "backup-29000000")
	add("backup-29000060-4-abcde", "CronJob/backup", "backup-29000060")
	server := clusterOf(t, []*fakeAgent{agent})
	for args, want := range map[string]string{
		"job/" + long:             "pod/" + indexed,
		"job/backup-29000000":     "pod/backup-29000000-4-abcde",
		"cronjob/backup":          "pod/backup-29000000-4-abcde pod/backup-29000060-4-abcde",
		"job/backup-29000001":     "",
		"job/backup":              "",
		"rs/backup-29000000":      "",
		"job/" + long[:54] + "zz": "",
	} {
		got := atNoon(t, server, "explain", args, "-n", "shop", "-o", "name")
		if joined := strings.Join(strings.Fields(got.stdout), " "); joined != want {
			t.Errorf("%s: exit %d, %q, want %q\n%s", args, got.code, joined, want, got.stderr)
		}
	}
}

// TestLongListsAreCut has more pods than a list shows. The note about the omitted pods must not count as the error of
// an agent.
func TestLongListsAreCut(t *testing.T) {
	var cluster []*fakeAgent
	for _, node := range []string{"worker-1", "worker-2"} {
		record := api.Record{Namespace: "shop", Name: "web", UID: node, Node: node, State: timeline.StateReady}
		agent := &fakeAgent{node: node, records: make([]api.Record, maxListed/2+1)}
		for i := range agent.records {
			agent.records[i] = record
		}
		cluster = append(cluster, agent)
	}
	cluster = append(cluster, &fakeAgent{node: "worker-3"})
	var pods []agentstest.Pod
	for _, agent := range cluster {
		pod := agentOn(agent.node, "")
		if len(agent.records) > 0 {
			pod.Handler = agent
		}
		pods = append(pods, pod)
	}
	got := atNoon(t, agentstest.Start(t, pods...), "explain", "--no-headers", "--timeout=10m")
	got.must(t, ExitPartial, "shop/web", "2 more pods are not shown: select fewer pods with -n, -l or --node")
	lines, failures := strings.Count(got.stdout, "\n"), strings.Count(got.stderr, "node worker-3")
	if lines != maxListed || failures != 1 || strings.Contains(got.stderr, "more agents") {
		t.Errorf("%d lines, want %d\n%s", lines, maxListed, got.stderr)
	}
}

// TestClockSkew checks the clock skew of a node in the table and in JSON.
func TestClockSkew(t *testing.T) {
	cluster := shop()
	skew := &api.SkewRecord{Least: api.Seconds(-1900 * time.Millisecond), Most: api.Seconds(-time.Second)}
	cluster[1].skew = skew
	cluster[1].records[0].ClockSkew = skew
	server := clusterOf(t, cluster)
	rows := strings.Split(atNoon(t, server, "nodes", "-o", "wide").stdout, "\n")
	if !strings.Contains(rows[0], "CLOCK SKEW") || !strings.Contains(rows[2], "-1.900 s to -1.000 s") ||
		strings.Contains(rows[1], "-1.900 s") {
		t.Errorf("nodes:\n%s", strings.Join(rows, "\n"))
	}
	atNoon(t, server, "nodes", "--node=worker-2", "-o", "json").must(t, ExitOK, `"least_seconds": -1.9`, "")
	atNoon(t, server, "explain", "web-7d4b9-x2x8b", "-n", "shop").must(t, ExitOK,
		"clock skew: the control plane's clock minus the node's clock is -1.900 s to -1.000 s\n", "")
	if got := atNoon(t, server, "explain", "web-7d4b9-x2x8a", "-n", "shop"); strings.Contains(got.stdout, "skew") {
		t.Errorf("a skew that is not proven:\n%s", got.stdout)
	}
}

// TestWidthCutsLines checks that --width shortens the verdicts even if the output is not a terminal.
func TestWidthCutsLines(t *testing.T) {
	cluster := shop()
	for i := range cluster[0].records {
		cluster[0].records[i].Verdict = strings.Repeat("very slow, ", 30)
	}
	server := clusterOf(t, cluster)
	for _, command := range []string{"top", "explain -o wide"} {
		whole := atNoon(t, server, strings.Fields(command)...)
		cut := atNoon(t, server, append(strings.Fields(command), "--width=120")...)
		for line := range strings.Lines(cut.stdout) {
			if terminal.Cells(strings.TrimSuffix(line, "\n")) > 120 {
				t.Errorf("%s: %q is wider than 120", command, line)
			}
		}
		if !strings.Contains(whole.stdout, strings.Repeat("very slow, ", 29)) || !strings.Contains(cut.stdout, "…") {
			t.Errorf("%s:\n%s\n%s", command, whole.stdout, cut.stdout)
		}
	}
}

// TestNarrowTerminal checks that the rows of all tables fit on a narrow terminal.
func TestNarrowTerminal(t *testing.T) {
	server := clusterOf(t, shop())
	for _, command := range []string{"top", "top -o wide", "explain", "pulls", "nodes", "registries", "report",
		"node worker-1", "explain web-7d4b9-x2x8a -n shop", "explain deploy/web -n shop"} {
		for width := minWidth; width <= 80; width++ {
			got := atNoon(t, server, append(strings.Fields(command), fmt.Sprintf("--width=%d", width))...)
			for line := range strings.Lines(got.stdout) {
				if cells := terminal.Cells(strings.TrimSuffix(line, "\n")); cells > width {
					t.Errorf("%s --width=%d: a line has %d cells: %q", command, width, cells, line)
					break
				}
			}
		}
	}
}

func TestResourcesAreRefused(t *testing.T) {
	server := clusterOf(t, shop())
	for args, want := range map[string]string{
		"shop/cart-a -n bank": "pod shop/cart-a is in namespace shop, but -n specifies namespace bank: " +
			"use only one of the two namespaces",
		"svc/web -n shop": "resources of type svc have no start-ups: use one of pod, deploy",
		"service.v1./web": "resources of type service.v1. have no start-ups: use one of pod, deploy",
		"deployment.apps": "a name is required after the type deployment.apps",
		"ns/shop":         "and node. To list the pods of namespace shop, use -n shop\n",
		"deploy -n shop": "the type deploy: use deploy/NAME, or use \"pods\" to list all pods. If deploy is the name " +
			"of a pod, use pod/deploy",
		"deploy a/b":                        "use either TYPE NAME... or TYPE/NAME",
		"a/b/c":                             "must be POD, TYPE/NAME or NAMESPACE/POD",
		"web-0 -A":                          "is required: replace -A with -n NAMESPACE",
		"web-0 -n shop -A":                  "is required: replace -A with -n NAMESPACE",
		"web-0 -l app=web":                  "-l cannot be combined with the names",
		"-l a==b==c":                        "invalid label selector",
		"--as-group=g":                      "--as-group requires --as",
		"--sort-by color":                   "must be duration, phase, cause",
		"--sort-by={.spec}":                 `invalid value "{.spec}": must be duration`,
		"-o json --no-headers":              "--no-headers requires -o table or -o wide",
		"-o=":                               `invalid value "": must be table`,
		"--sort-by=":                        `invalid value "": must be duration`,
		"--width=":                          `invalid width "": must be 60 to 1023 columns`,
		"--width=59":                        `invalid width "59": must be 60 to 1023 columns`,
		"--width=1024":                      `invalid width "1024": must be 60 to 1023 columns`,
		"--since=":                          "--since: the duration is empty: remove the flag",
		"--timeout=":                        "--timeout: the duration is empty: remove the flag",
		"deploy/web -n shop --revision=":    "--revision: the revision is empty: set one revision",
		"-o xml":                            "must be table, wide, json, yaml or name",
		"web-0 --as jane --server=http://x": "--as cannot be combined with --server",
		"node/worker-1 --server=http://x":   "accepts no node name",
		"--server=http://x/?y":              `contains "?" or "#"`,
		"--server=http://x#y":               `contains "?" or "#"`,
	} {
		got := atNoon(t, server, append([]string{"explain"}, strings.Fields(args)...)...)
		got.must(t, ExitUsage, "", want)
	}
	atNoon(t, server, "explain", "deploy/none", "-n", "shop").
		must(t, ExitNotFound, "", "no agent knows a pod of deployment shop/none: check the name and the namespace (-n)")
	atNoon(t, server, "explain", "none", "-n", "shop").must(t, ExitNotFound, "", "For a workload, use TYPE/NAME")
}

// A start-up whose length is unknown must not hide the slow start-ups: an example is a pod that was ready before the
// agent started.
func TestUnknownLengthsAreLast(t *testing.T) {
	record := func(name string, total, totalError time.Duration) api.Record {
		return api.Record{Name: name, Total: api.Seconds(total), TotalError: api.Seconds(totalError)}
	}
	list := []api.Record{record("reconstructed", 268*time.Second, 269*time.Second),
		record("fast", time.Second, time.Second/10), record("slow", 9*time.Second, time.Second)}
	slices.SortFunc(list, longestFirst)
	if list[0].Name != "slow" || list[1].Name != "fast" || list[2].Name != "reconstructed" {
		t.Errorf("wrong order: %s, %s, %s", list[0].Name, list[1].Name, list[2].Name)
	}
}

// TestListFlags checks the flags that all lists share.
func TestListFlags(t *testing.T) {
	server := clusterOf(t, shop())
	all := atNoon(t, server, "explain", "-A", "--sort-by=duration", "--no-headers")
	lines := strings.Split(strings.TrimSpace(all.stdout), "\n")
	if len(lines) != 19 || !strings.HasPrefix(lines[0], "worker-3  shop/cart-1") ||
		!strings.HasPrefix(lines[1], "worker-2") {
		t.Errorf("want 19 rows, the slowest first, without headings:\n%s%s", all.stdout, all.stderr)
	}
	atNoon(t, server, "explain", "-l", "app=none").must(t, ExitOK, "no known pods yet with labels app=none", "")
	atNoon(t, server, "explain", "-o", "wide").must(t, ExitOK, "OWNER", "")
	atNoon(t, server, "pulls", "-l", "app=none").must(t, ExitOK, "no pulls in progress", "")
	atNoon(t, server, "top", "-o", "wide", "--sort-by", "name").must(t, ExitOK, "StatefulSet/cart", "")
	if got := atNoon(t, server, "top", "--no-headers"); strings.Contains(got.stdout, "STARTED") ||
		strings.Contains(got.stdout, "nodes:") {
		t.Errorf("headings remain:\n%s", got.stdout)
	}
	// A switch without a value, and with two spellings of its value.
	for _, once := range []string{"--once", "--once=true", "--once=on"} {
		atNoon(t, server, "top", once).must(t, ExitOK, "3 nodes: 1 starting", "")
	}
	var list struct{ Items []struct{ Name string } }
	got := atNoon(t, server, "explain", "deploy", "auth", "-n", "shop", "-o", "json")
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || len(list.Items) != 3 {
		t.Errorf("%v: %s", err, got.stdout)
	}
	// For a workload, the slowest start-up follows the list.
	atNoon(t, server, "explain", "deploy/web", "-n", "shop").must(t, ExitOK, "\n\nshop/web-7d4b9-lq5tb: ", "")
}

// TestAllNamespacesOverrideNamespace requires that -A overrides -n, as in kubectl.
func TestAllNamespacesOverrideNamespace(t *testing.T) {
	cluster := shop()
	cluster[0].records[0].Namespace = "bank"
	server := clusterOf(t, cluster)
	for _, command := range []string{"explain --no-headers", "top --no-headers"} {
		all := atNoon(t, server, append(strings.Fields(command), "-A")...)
		for _, both := range [][]string{{"-n", "bank", "-A"}, {"-A", "-n", "bank"}} {
			got := atNoon(t, server, append(strings.Fields(command), both...)...)
			if got != all || got.code != ExitOK || !strings.Contains(got.stdout, "shop/") {
				t.Errorf("%s %v: exit %d, %s%s\nwant\n%s", command, both, got.code, got.stdout, got.stderr, all.stdout)
			}
		}
		if got := atNoon(t, server, append(strings.Fields(command), "-n", "bank")...); got == all {
			t.Errorf("%s: -n has no effect", command)
		}
	}
}

// TestImpersonation checks that the API server receives the user and the groups of --as and --as-group.
func TestImpersonation(t *testing.T) {
	server := clusterOf(t, shop())
	var user string
	var groups []string
	server.Refuse(func(r *http.Request) int {
		user, groups = r.Header.Get("Impersonate-User"), r.Header.Values("Impersonate-Group")
		return http.StatusForbidden
	})
	atNoon(t, server, "explain", "--as", "jane", "--as-group=dev", "--as-group", "ops,night").
		must(t, ExitForbidden, "", "list the agents' pods")
	if user != "jane" || strings.Join(groups, "|") != "dev|ops,night" {
		t.Errorf("user %q, groups %q", user, groups)
	}
}

// TestAgentNamespaceVariable sets the namespace of the agents in an environment variable.
func TestAgentNamespaceVariable(t *testing.T) {
	server := clusterOf(t, nil)
	env := environment{"KUBECONFIG": agentstest.Kubeconfig(t, server.URL), "PODLAPSE_AGENT_NAMESPACE": "monitoring"}
	runs(t, PluginProgram, env, "top").must(t, ExitUnreachable, "", "in namespace monitoring")
	runs(t, PluginProgram, env, "top", "--agent-namespace=other").must(t, ExitUnreachable, "", "in namespace other")
}

// TestHelp checks the groups in the help. Every command must have examples, and the command must accept these
// examples.
func TestHelp(t *testing.T) {
	for _, c := range programOf(PluginProgram).Commands {
		help := runs(t, PluginProgram, environment{}, "help", c.Name)
		help.must(t, ExitOK, "", "")
		if c.Name == "help" {
			continue
		}
		if c.Name != "completion" && len(c.Examples) < 2 {
			t.Errorf("%s has %d examples", c.Name, len(c.Examples))
		}
		for _, e := range c.Examples {
			line, _, _ := strings.Cut(e.Line, "|")
			line, _, _ = strings.Cut(line, "<")
			words := strings.Fields(line)
			if words[0] != c.Name {
				t.Errorf("%s: the example is %q", c.Name, e.Line)
			}
			if c.Flags == nil {
				continue
			}
			if _, err := c.Flags().Parse(words[1:], environment{}.get, maxResources); err != nil {
				t.Errorf("%s: %v", e.Line, err)
			}
			if !strings.Contains(help.stdout, "  # "+e.Purpose+"\n  kubectl podlapse "+e.Line+"\n") {
				t.Errorf("the help has no example %q", e.Line)
			}
		}
	}
	runs(t, PluginProgram, environment{}, "help").must(t, ExitOK, groupStartUps+":\n  explain ", "")
	runs(t, PluginProgram, environment{}, "help").must(t, ExitOK, otherCommands+":\n", "")
}

// TestHelpExplainsOnlyAcceptedFormats checks that the help of -o explains no format that the command refuses.
func TestHelpExplainsOnlyAcceptedFormats(t *testing.T) {
	for _, command := range []string{"explain", "top", "pulls", "nodes", "registries", "node", "report"} {
		help := runs(t, PluginProgram, environment{}, command, "--help").stdout
		_, accepted, _ := strings.Cut(help, "-o, --output ")
		accepted, _, _ = strings.Cut(accepted, "\n")
		for _, format := range []string{outputWide, outputJSON, outputYAML, outputName} {
			explained := strings.Contains(strings.Join(strings.Fields(help), " "), `"`+format+`"`)
			if takes := strings.Contains(accepted, format); takes != explained {
				t.Errorf("%s: -o %s accepts %s: %t, the help explains it: %t", command, accepted, format, takes,
					explained)
			}
		}
	}
}
