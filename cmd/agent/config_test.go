package main

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/node"
)

// environment holds the environment variables of an agent under test.
type environment map[string]string

func (e environment) get(name string) string { return e[name] }

func selector(t *testing.T, given string) node.Selector {
	t.Helper()
	s, err := node.ParseSelector(given)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConfigFrom(t *testing.T) {
	defaults := config{
		nodeName: "node-a", events: eventsAuto, listenAddress: ":9717", logLevel: zapcore.InfoLevel,
		logFormat: formatJSON, records: recordsTimeline,
		historyBytes: 4 << 20, webAuth: webAuthLocal,
		node: nodeConfig{warmUp: 5 * time.Minute, addons: selector(t, "kube-system"), procDir: "/proc"},
	}
	for name, test := range map[string]struct {
		args string
		env  environment
		want func(*config)
	}{
		"defaults":         {args: "--node-name node-a"},
		"one dash, equals": {args: "-node-name=node-a"},
		"environment":      {env: environment{"NODE_NAME": "node-a"}},
		"all flags from the environment": {
			env: environment{
				"NODE_NAME": "b.example", "KUBECONFIG": "/k", "CONTAINER_RUNTIME_ENDPOINT": "off", "EVENTS": "cluster",
				"LISTEN_ADDRESS": "[::1]:0", "LOG_LEVEL": "warn", "LOG_FORMAT": "console", "RECORDS": "both",
				"RECORDS_PARTIAL": "on",
				"HISTORY_LIMIT":   "0", "SERVE_OBJECTS": "on",
				"RECORD_OBSERVATIONS": "/o", "DEBUG_OBSERVATIONS": "on",
				"IMPERSONATE_NODE": "on", "WEB_AUTH": "kubernetes",
				"NODE_HEALTH": "on", "NODE_WARM_UP": "0s", "ADDONS": ":tier=node", "PRESSURE": "on",
				"NODE_STARTUP": "on", "PROC_DIR": "/host/proc",
			},
			want: func(c *config) {
				c.nodeName, c.kubeconfig, c.listenAddress = "b.example", "/k", "[::1]:0"
				c.logLevel, c.logFormat, c.records = zapcore.WarnLevel, formatConsole, recordsBoth
				c.partial = true
				c.events = eventsCluster
				c.historyBytes = 0
				c.recordObservations, c.debugObservations = "/o", true
				c.asNode, c.webAuth = true, webAuthKubernetes
				c.node = nodeConfig{health: true, addons: selector(t, ":tier=node"), pressure: true,
					startUp: true, procDir: "/host/proc"}
			},
		},
		"the flag wins": {
			args: "--node-name node-a --log-level debug --kubeconfig=",
			env:  environment{"NODE_NAME": "Not_A_Name", "LOG_LEVEL": "loud", "KUBECONFIG": "/k"},
			want: func(c *config) { c.logLevel = zapcore.DebugLevel },
		},
		"a flag without its optional value": {
			args: "--node-name node-a --records-partial --debug-observations --records both",
			want: func(c *config) { c.records, c.partial, c.debugObservations = recordsBoth, true, true },
		},
		"a flag with its optional value": {
			args: "--records-partial off --node-name node-a --records=transition",
			want: func(c *config) { c.records = "transition" },
		},
		"true and false": {
			args: "--node-name node-a --annotate=true --termination true --pressure=false",
			env:  environment{"WATCH_DELAYS": "true", "PRESSURE": "on", "SERVE_OBJECTS": "false"},
			want: func(c *config) { c.termination = true },
		},
		"the last flag wins": {args: "--node-name b --node-name node-a"},
	} {
		want := defaults
		if test.want != nil {
			test.want(&want)
		}
		var got config
		_, err := got.flagTable().Parse(strings.Fields(test.args), test.env.get, 0)
		want.criEndpoint = got.criEndpoint // a later check compares this field
		got.features = nil                 // TestFeaturesAreOffByDefault compares this field
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, want)
		}
		if off := test.env["CONTAINER_RUNTIME_ENDPOINT"] == "off"; got.criEndpoint.Off() != off {
			t.Errorf("%s: runtime off is %t, want %t", name, !off, off)
		}
	}
}

func TestConfigRefuses(t *testing.T) {
	for _, test := range []struct {
		args string
		env  environment
		want string // part of the error
	}{
		{"", nil, "--node-name (or NODE_NAME) is required"},
		{"--node-name=", nil, `--node-name: invalid node name ""`},
		{"--node-name Node_A", nil, `--node-name: invalid node name "Node_A"`},
		{"", environment{"NODE_NAME": "a/b"}, `--node-name (from NODE_NAME): invalid node name "a/b"`},
		{"--cri-endpoint /run/x.sock", nil, "--cri-endpoint: "},
		{"--cri-endpoint=", nil, "--cri-endpoint: the endpoint must not be empty"},
		{"--events on", nil, `--events: invalid value "on": must be auto, off or cluster`},
		{"--events=", nil, `--events: invalid value ""`},
		{"", environment{"EVENTS": "Auto"},
			`--events (from EVENTS): invalid value "Auto": must be auto, off or cluster`},
		{"--listen-address 9717", nil, `--listen-address: invalid address "9717"`},
		{"--listen-address :http", nil, `--listen-address: invalid port in ":http"`},
		{"--listen-address :65536", nil, `--listen-address: invalid port in ":65536"`},
		{"--listen-address a_b:1", nil, `--listen-address: invalid host in "a_b:1"`},
		{"--records none --records-partial", nil, "--records-partial: requires --records=timeline, transition or both"},
		{"--records-partial", environment{"RECORDS": "none"},
			"--records-partial: requires --records=timeline, transition or both"},
		{"--log-level loud", nil, `--log-level: invalid level "loud": must be debug, info, warn or error`},
		{"--log-level fatal", nil, `--log-level: invalid level "fatal"`},
		{"", environment{"LOG_FORMAT": "xml"},
			`--log-format (from LOG_FORMAT): invalid value "xml": must be json or console`},
		{"--records all", nil, `--records: invalid value "all": must be timeline, transition, both or none`},
		{"--debug-observations=yes", nil, `--debug-observations: invalid value "yes": must be on, off, true or false`},
		{"--verify-interval 5s", nil, `--verify-interval: invalid interval "5s": must be off, or 10s to 24h`},
		{"--verify-interval on", nil, `--verify-interval: invalid interval "on"`},
		{"--verify-interval 25h", nil, `--verify-interval: invalid interval "25h"`},
		{"--impersonate-node=yes", nil, `--impersonate-node: invalid value "yes": must be on, off, true or false`},
		{"--web-auth basic", nil, `--web-auth: invalid value "basic": must be auto, local, none or kubernetes`},
		{"--web-hosts agent.example:80", nil, `--web-hosts: invalid name "agent.example:80"`},
		{"--web-config-file /does/not/exist", nil, "--web-config-file: read /does/not/exist"},
		{"--nod-name a", nil, "unknown flag --nod-name: did you mean --node-name?"},
		{"--node-name", nil, "--node-name requires a value"},
		{"--node-name --log-level=info", nil, "--node-name requires a value"},
		{"--node-name a --history-limit 1GiB", nil, "--history-limit: invalid size \"1GiB\": must be 0 to 64MiB"},
		{"--node-name a --history-limit -1", nil, "--history-limit: "},
		{"--node-name a --history-limit 1.5", nil, "--history-limit: "},
		{"--node-name a --history-limit much", nil, "for example 4MiB or 512KiB"},
		{"--node-name a --serve-objects yes", nil, "--serve-objects: "},
		{"--node-name a stray", nil, `unexpected argument "stray"`},
		{"--node-name a -- --records", nil, `unexpected argument "--records"`},
	} {
		var c config
		_, err := c.flagTable().Parse(strings.Fields(test.args), test.env.get, 0)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q %v: got %v, want %q", test.args, test.env, err, test.want)
		}
	}
}

func TestHistoryLimit(t *testing.T) {
	for value, want := range map[string]int{
		"0": 0, "512KiB": 512 << 10, "64MiB": 64 << 20, "1Mi": 1 << 20, "1MB": 1_000_000, "100": 100,
	} {
		var c config
		if err := c.setHistoryLimit(value); err != nil || c.historyBytes != want {
			t.Errorf("%s: %d, %v; want %d", value, c.historyBytes, err, want)
		}
	}
}

func TestConfigReportsEveryProblem(t *testing.T) {
	args := "run --node-name A --cri-endpoint tcp://x --listen-address x --wrong=1 stray --log-level loud"
	env := environment{"LOG_FORMAT": "xml", "RECORDS": "all"}
	var stdout, stderr bytes.Buffer
	code := runAsAgent(context.Background(), strings.Fields(args), env.get, &stdout, &stderr)
	if code != cli.ExitUsage {
		t.Errorf("exit code %d, want %d", code, cli.ExitUsage)
	}
	for _, want := range []string{
		"8 problems:", "unknown flag --wrong", `"stray"`, "--node-name:", "--cri-endpoint:", "--listen-address:",
		"--log-level:", "--log-format (from LOG_FORMAT):", "--records (from RECORDS):",
	} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("no %s in\n%s", want, stderr.String())
		}
	}
	if stdout.Len() > 0 {
		t.Errorf("unexpected text on standard output: %s", stdout.String())
	}
}

func TestHelpListsEverySetting(t *testing.T) {
	var stdout, stderr bytes.Buffer
	args := []string{"run", "--wrong", "--help"}
	if code := runAsAgent(context.Background(), args, environment{}.get, &stdout, &stderr); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	var c config
	for _, s := range c.flagTable() {
		for _, want := range []string{"--" + s.Name + " ", s.Variable, s.Default, s.Help} {
			if !strings.Contains(stdout.String(), want) {
				t.Errorf("no %q in\n%s", want, stdout.String())
			}
		}
	}
}

func TestCommandLine(t *testing.T) {
	for _, test := range []struct {
		args           string
		code           int
		stdout, stderr string // substrings; empty if the output must be empty
	}{
		{"", cli.ExitUsage, "", "Run an agent:"},
		{"help", cli.ExitOK, "Run an agent:", ""},
		{"--help", cli.ExitOK, "Run an agent:", ""},
		{"-h", cli.ExitOK, "Run an agent:", ""},
		{"help me", cli.ExitUsage, "", `unknown command "me"`},
		{"help me now", cli.ExitUsage, "", `unexpected argument "now": give the name of only one command`},
		{"help explain", cli.ExitOK, "Usage: podlapse-agent explain", ""},
		{"help help", cli.ExitOK, "Run an agent:", ""},
		{"help version", cli.ExitOK, "Usage: podlapse-agent version", ""},
		{"ran", cli.ExitUsage, "", `unknown command "ran"`},
		{"--node-name=x", cli.ExitUsage, "", "flag --node-name must follow the command, for example: " +
			"podlapse-agent run --node-name=NAME"},
		{"version", cli.ExitOK, "podlapse-agent ", ""},
		{"--version", cli.ExitOK, "podlapse-agent ", ""},
		{"version now", cli.ExitUsage, "", `unexpected argument "now"`},
		{"explain --help", cli.ExitOK, "--server URL", ""},
		{"replay --help", cli.ExitOK, "  -o waterfall|json\n", ""},
		{"explain --server localhost:9717", cli.ExitUsage, "", "--server: "},
		{"explain --width 0 --server x", cli.ExitUsage, "", "2 problems:"},
		{"explain --wrong", cli.ExitUsage, "", `Run "podlapse-agent explain --help" for the flags and examples.`},
		{"run --wrong", cli.ExitUsage, "", `Run "podlapse-agent run --help" for the flags.`},
		{"runtime-proxy --wrong", cli.ExitUsage, "", `Run "podlapse-agent runtime-proxy --help" for the flags.`},
		{"completion csh", cli.ExitUsage, "", `Run "podlapse-agent completion --help" for the usage.`},
		{"top a", cli.ExitUsage, "", `unexpected argument "a"`},
		{"explain web-0", cli.ExitUsage, "", "the namespace of pod web-0 is unknown: add -n NAMESPACE"},
		{"explain a/b/c", cli.ExitUsage, "", `invalid resource "a/b/c"`},
	} {
		var stdout, stderr bytes.Buffer
		code := runAsAgent(context.Background(), strings.Fields(test.args), environment{}.get, &stdout, &stderr)
		if code != test.code || !holds(stdout.String(), test.stdout) || !holds(stderr.String(), test.stderr) {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", test.args, code, stdout.String(), stderr.String())
		}
	}
}

func holds(text, want string) bool {
	if want == "" {
		return text == ""
	}
	return strings.Contains(text, want)
}
