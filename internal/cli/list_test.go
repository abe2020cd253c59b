package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/agents/agentstest"
)

// TestResources names resources in kubectl's forms. Each row says which pods the command shows, in any order.
func TestResources(t *testing.T) {
	server := clusterOf(t, shop())
	for _, test := range []struct{ args, want string }{
		{"cart-0 -n shop", ""}, // no pod has this name: the last letter is the node's
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

func TestResourcesAreRefused(t *testing.T) {
	server := clusterOf(t, shop())
	for args, want := range map[string]string{
		"shop/cart-a -n bank": "pod shop/cart-a is in namespace shop, but -n names bank: " +
			"remove one of them",
		"svc/web -n shop": "resource type svc has no start-ups: use one of pod, deploy",
		"deploy -n shop":  "the type deploy: use deploy/NAME; for a pod of this name, use pod/deploy",
		"deploy a/b":      "use either TYPE NAME... or TYPE/NAME",
		"a/b/c":           "must be POD, TYPE/NAME or NAMESPACE/POD",
		"web-0 -A": "cannot be found in all namespaces by its name: " +
			"replace -A with -n NAMESPACE",
		"web-0 -l app=web":                  "-l cannot be combined with names",
		"-n shop -A":                        "--namespace and --all-namespaces cannot be combined",
		"-l a==b==c":                        "invalid label selector",
		"--as-group=g":                      "--as-group requires --as",
		"--sort-by color":                   "must be duration, phase, cause",
		"-o json --no-headers":              "--no-headers requires -o table or -o wide",
		"-o xml":                            "must be table, wide, json, yaml or name",
		"web-0 --as jane --server=http://x": "--as cannot be combined with --server",
	} {
		got := atNoon(t, server, append([]string{"explain"}, strings.Fields(args)...)...)
		got.must(t, ExitUsage, "", want)
	}
	atNoon(t, server, "explain", "deploy/none", "-n", "shop").
		must(t, ExitNotFound, "", "no agent knows a pod of deployment shop/none: check the name and the namespace (-n)")
	atNoon(t, server, "explain", "none", "-n", "shop").must(t, ExitNotFound, "", "for a workload, use TYPE/NAME")
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
	// A flag without a value, and with kubectl's spelling of its value.
	for _, once := range []string{"--once", "--once=true", "--once=on"} {
		atNoon(t, server, "top", once).must(t, ExitOK, "3 nodes: 1 starting", "")
	}
	var list struct{ Items []struct{ Name string } }
	got := atNoon(t, server, "explain", "deploy", "auth", "-n", "shop", "-o", "json")
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || len(list.Items) != 3 {
		t.Errorf("%v: %s", err, got.stdout)
	}
	// Of a workload, the slowest start-up follows the list.
	atNoon(t, server, "explain", "deploy/web", "-n", "shop").must(t, ExitOK, "\n\nshop/web-7d4b9-lq5tb: ", "")
}

// TestImpersonation sends the user and the groups to the API server.
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

// TestAgentNamespaceVariable reads the namespace of the agents from the environment.
func TestAgentNamespaceVariable(t *testing.T) {
	server := clusterOf(t, nil)
	env := environment{"KUBECONFIG": agentstest.Kubeconfig(t, server.URL), "PODLAPSE_AGENT_NAMESPACE": "monitoring"}
	runs(t, PluginProgram, env, "top").must(t, ExitUnreachable, "", "in namespace monitoring")
	runs(t, PluginProgram, env, "top", "--agent-namespace=other").must(t, ExitUnreachable, "", "in namespace other")
}

// TestHelp holds the groups and that every command has examples, which the command accepts.
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
