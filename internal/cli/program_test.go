package cli

import (
	"strings"
	"testing"
)

// TestUnknownCommand expects a short error with the most similar commands, and not the whole help.
func TestUnknownCommand(t *testing.T) {
	const hint = "\nRun \"kubectl podlapse help\" for the list of commands.\n"
	for command, want := range map[string]string{
		"expain":    `unknown command "expain": did you mean explain?`,
		"regist":    `unknown command "regist": did you mean registries?`,
		"registry":  `unknown command "registry": did you mean registries?`,
		"p":         `unknown command "p": did you mean pulls or page?`,
		"nod":       `unknown command "nod": did you mean nodes or node?`,
		"ndoes":     `unknown command "ndoes": did you mean nodes?`,
		"foo":       `unknown command "foo"`,
		"logs":      `unknown command "logs"`,
		"unrelated": `unknown command "unrelated"`,
		"\x1b[2J":   `unknown command "\x1b[2J"`,
	} {
		got := runs(t, PluginProgram, environment{}, command)
		if want = "kubectl podlapse: " + want + hint; got.code != ExitUsage || got.stdout != "" || got.stderr != want {
			t.Errorf("%q: exit %d, %q and %q, want %q", command, got.code, got.stdout, got.stderr, want)
		}
	}
}

// TestFlagBeforeCommand expects an example with the flag after the command. The error must not contain the value.
func TestFlagBeforeCommand(t *testing.T) {
	const follows = " must follow the command, for example: kubectl podlapse "
	for args, want := range map[string]string{
		"--context=x nodes":                  "flag --context" + follows + "nodes --context=NAME\n",
		"--context x nodes":                  "flag --context" + follows + "nodes --context=NAME\n",
		"--context=x":                        "flag --context" + follows + "explain --context=NAME\n",
		"-n foo explain x":                   "flag -n" + follows + "explain -n NAME\n",
		"-nfoo top":                          "flag -n" + follows + "top -n NAME\n",
		"-A top":                             "flag -A" + follows + "top -A\n",
		"--server=http://me:secret@host":     "flag --server" + follows + "explain --server=URL\n",
		"--nothing=x top":                    "unknown flag \"--nothing\": the first argument must be a command\n",
		"-" + strings.Repeat("\x1b", 200):    `unknown flag "-\x1b": the first argument must be a command` + "\n",
		"-shttp://me:secret@host nodes":      "unknown flag \"-s\": the first argument must be a command\n",
		"-o json nodes":                      "flag -o" + follows + "nodes -o table|wide|json|yaml|name\n",
		"--=x":                               "unknown flag \"--\": the first argument must be a command\n",
		"-=x":                                "unknown flag \"-\": the first argument must be a command\n",
		"---":                                "unknown flag \"---\": the first argument must be a command\n",
		"--prometheus http://x nodes report": "flag --prometheus" + follows + "report --prometheus=URL\n",
	} {
		got := runs(t, PluginProgram, environment{}, strings.Fields(args)...)
		got.must(t, ExitUsage, "", "kubectl podlapse: "+want)
		if strings.Contains(got.stderr, "secret") {
			t.Errorf("%s: prints the password: %s", args, got.stderr)
		}
	}
	runs(t, AgentProgram, environment{}, "--pod=shop/web-0").must(t, ExitUsage, "",
		"podlapse-agent: flag --pod must follow the command, for example: podlapse-agent replay --pod=NAMESPACE/POD")
}

// TestCommandAsArgument expects the name of the command that the argument means.
func TestCommandAsArgument(t *testing.T) {
	for args, want := range map[string]string{
		"top nodes": "unexpected argument \"nodes\"\nThe command for \"nodes\" is: kubectl podlapse nodes\n",
		"top node":  "\nThe command for \"node\" is: kubectl podlapse node\n",
		"top shop":  "unexpected argument \"shop\"\nRun",
	} {
		runs(t, PluginProgram, environment{}, strings.Fields(args)...).must(t, ExitUsage, "", want)
	}
}

// TestHelpOfHelp expects the list of commands.
func TestHelpOfHelp(t *testing.T) {
	want := runs(t, PluginProgram, environment{}, "help")
	for _, flag := range []string{"--help", "-h", "-help"} {
		if got := runs(t, PluginProgram, environment{}, "help", flag); got != want {
			t.Errorf("help %s: exit %d, %s%s", flag, got.code, got.stdout, got.stderr)
		}
	}
}

// TestNodeArguments expects one node with the factor that it has in the list of all nodes.
func TestNodeArguments(t *testing.T) {
	server := clusterOf(t, shop())
	row := ""
	for line := range strings.Lines(atNoon(t, server, "nodes", "--no-headers").stdout) {
		if strings.HasPrefix(line, "worker-2") {
			row = strings.Join(strings.Fields(line), " ")
		}
	}
	for _, args := range []string{"worker-2", "node/worker-2", "node worker-2", "--node=worker-2", "-A worker-2"} {
		got := atNoon(t, server, append([]string{"nodes", "--no-headers"}, strings.Fields(args)...)...)
		if one := strings.Join(strings.Fields(got.stdout), " "); got.code != ExitOK || one != row {
			t.Errorf("nodes %s: exit %d, %q, want %q\n%s", args, got.code, one, row, got.stderr)
		}
	}
	atNoon(t, server, "nodes", "node/").must(t, ExitUsage, "", "must be the name of one node")
	atNoon(t, server, "nodes", "worker-1", "worker-2").must(t, ExitUsage, "", "must be the name of one node")
	atNoon(t, server, "nodes", "worker-1", "--node=worker-2").must(t, ExitUsage, "", "remove the argument or --node")
	for _, command := range []string{"node", "nodes"} {
		atNoon(t, server, command, "worker-1", "--server=http://x").must(t, ExitUsage, "", "accepts no node name")
	}
	atNoon(t, server, "nodes", "worker-9").must(t, ExitUnreachable, "", `no agent found on node "worker-9": `)
	atNoon(t, server, "registries", "-A").must(t, ExitOK, "quay.example", "")
}

// TestRowsWithoutNamespace expects one error, and not the error of an unknown flag and of an unexpected argument.
func TestRowsWithoutNamespace(t *testing.T) {
	server := clusterOf(t, shop())
	for _, command := range []string{"nodes", "registries"} {
		for _, flag := range []string{"-n shop", "--namespace=shop"} {
			name, _, _ := strings.Cut(strings.ReplaceAll(flag, "=", " "), " ")
			want := "kubectl podlapse " + command + ": " + name + ": " + command +
				" do not belong to a namespace: remove --namespace (-n)\n"
			got := atNoon(t, server, append([]string{command}, strings.Fields(flag)...)...)
			if got.code != ExitUsage || !strings.HasPrefix(got.stderr, want) {
				t.Errorf("%s %s: exit %d, %q, want %q", command, flag, got.code, got.stderr, want)
			}
		}
		if help := atNoon(t, server, command, "--help"); strings.Contains(help.stdout, "--namespace") {
			t.Errorf("the help lists a flag that is always an error:\n%s", help.stdout)
		}
	}
}

// TestUnknownNode expects the same error and the same remedy from all commands that accept the name of a node.
func TestUnknownNode(t *testing.T) {
	server := clusterOf(t, shop())
	for _, args := range []string{"nodes nope", "page nope", "explain node/nope", "top --node=nope"} {
		words := strings.Fields(args)
		want := "kubectl podlapse " + words[0] + `: no agent found on node "nope": no pod of podlapse runs on this ` +
			"node in namespace podlapse\nCheck the node's name: kubectl get nodes. If the node exists, check that " +
			"an agent runs on this node: kubectl -n podlapse get pods -o wide. If the agents are in another " +
			"namespace, set --agent-namespace\n"
		if got := atNoon(t, server, words...); got.code != ExitUnreachable || got.stderr != want {
			t.Errorf("%s: exit %d, %q, want %q", args, got.code, got.stderr, want)
		}
	}
}
