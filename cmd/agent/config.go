package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/otlp"
	"github.com/podlapse/podlapse/internal/web"
	"github.com/podlapse/podlapse/pkg/cri"
)

// config is how the agent runs. All values are valid.
type config struct {
	nodeName      string
	kubeconfig    string // a file; empty for the service account of the agent's own pod
	asNode        bool   // read pods in the name of the node
	criEndpoint   cri.Endpoint
	events        string // eventsAuto, eventsOff or eventsCluster
	listenAddress string
	logLevel      zapcore.Level
	logFormat     string // formatJSON or formatConsole
	records       string // one of recordChoices
	partial       bool   // also start-ups in progress

	webConfigFile string    // empty for plain HTTP without passwords
	webAsks       web.Asked // what webConfigFile requires from clients
	webAuth       string    // webAuthLocal, webAuthNone or webAuthKubernetes
	webHosts      []string

	podSeries bool // export a metric series for each pod

	historyBytes int  // memory for deleted pods
	serveObjects bool // serve the pod objects too

	annotate bool // write annotations to pods that request them

	termination   bool // follow deleted pods until they are gone
	rolloutTraces bool // send the pods of a rollout as one trace
	lifeTraces    bool // add what happens after a start-up to its trace

	verifyInterval time.Duration // 0 for never comparing pods with a list
	watchDelays    bool          // measure the delays of the watches

	stateDir string // empty for no state across restarts

	recordObservations string // a file; empty for none
	debugObservations  bool   // the latest are kept in memory and served
	profiles           bool   // serve Go profiles of the agent

	node   nodeConfig
	probes probeConfig

	otlp otlp.Settings // from the OTEL_* variables, for which there are no flags
}

// The values of --events, --log-format, --records, --verify-interval and --web-auth.
const (
	eventsAuto        = "auto"
	eventsOff         = "off"
	eventsCluster     = "cluster"
	formatJSON        = "json"
	formatConsole     = "console"
	recordsTimeline   = "timeline"
	recordsBoth       = "both"
	recordsNone       = "none"
	verifyOff         = "off"
	webAuthAuto       = "auto"
	webAuthLocal      = "local"
	webAuthNone       = "none"
	webAuthKubernetes = "kubernetes"
)

// table is the flags of run and check.
func (c *config) table() flags.Table {
	return slices.Concat(flags.Table{
		{
			Name: "node-name", Variable: "NODE_NAME", Value: "NAME", Required: true,
			Help: "name of the node whose pods the agent watches", Set: c.setNodeName,
		},
		{
			Name: "kubeconfig", Variable: "KUBECONFIG", Value: "FILE",
			Help: "kubeconfig for the API server; if unset, the pod's ServiceAccount",
			Set:  flags.Text(&c.kubeconfig),
		},
		flags.Switch("impersonate-node", "IMPERSONATE_NODE", &c.asNode,
			"impersonate the node when reading pods, so that the API server returns only pods of this node; "+
				"requires Kubernetes 1.36 or newer and a ServiceAccount with the verb impersonate:associated-node"),
		{
			Name: "cri-endpoint", Variable: "CONTAINER_RUNTIME_ENDPOINT",
			Value: "auto|off|unix:///PATH", Default: "auto",
			Help: "socket of the container runtime; auto tries the usual paths; off uses no runtime",
			Set:  c.setCRIEndpoint,
		},
		{
			Name: "events", Variable: "EVENTS", Value: "auto|off|cluster", Default: eventsAuto,
			Help: "how to watch the kubelet's Events: auto watches only the pods that need them; cluster watches " +
				"all Events with one watch while any pod needs them, for small clusters; off watches none",
			Set: flags.Choice(&c.events, eventsAuto, eventsOff, eventsCluster),
		},
		{
			Name: "listen-address", Variable: "LISTEN_ADDRESS", Value: "[HOST]:PORT", Default: ":9717",
			Help: "address to serve metrics, health checks and the API on", Set: c.setListenAddress,
		},
	}, c.webTable(), c.reportTable(), c.keepTable(), c.nodeTable(), c.probeTable())
}

// reportTable is the part of run's table that says what the agent logs and reports.
func (c *config) reportTable() flags.Table {
	return flags.Table{
		logLevelFlag(&c.logLevel), logFormatFlag(&c.logFormat),
		c.recordsFlag(), c.partialSwitch(),
		flags.Switch("metrics-pod-labels", "METRICS_POD_LABELS", &c.podSeries,
			"export a metric series for each pod on the node, with its namespace, name and workload, at most 250, and "+
				"a second series for each starting pod"),
		{
			Name: "history-limit", Variable: "HISTORY_LIMIT", Value: "SIZE", Default: "4MiB",
			Help: "memory for the start-ups of deleted pods, which the API still serves; about 2 KiB each, at most " +
				"the latest 1000; 0 to 64MiB, 0 keeps none", Set: c.setHistoryLimit,
		},
		flags.Switch("serve-objects", "SERVE_OBJECTS", &c.serveObjects,
			"keep the pod objects of the node in memory, about 2 KiB each, and serve them at /api/v1/objects/pods "+
				"without the fields that can hold secrets"),
		flags.Switch("annotate", "ANNOTATE", &c.annotate,
			"write the annotation podlapse.dev/startup to pods annotated podlapse.dev/annotate: \"true\" when their "+
				"start-up completes, and the annotation timestamp to pods annotated addtime; requires a "+
				"ServiceAccount that may patch pods"),
		flags.Switch("termination", "TERMINATION", &c.termination,
			"follow each deleted pod until its object is gone and report where the time went: each container, the "+
				"sandbox, the object; queries the runtime once per second for each such pod"),
		flags.Switch("rollout-traces", "ROLLOUT_TRACES", &c.rolloutTraces,
			"send the start-ups of all pods of one version of one owner as a single OTLP trace instead of one "+
				"trace per pod"),
		flags.Switch("life-traces", "LIFE_TRACES", &c.lifeTraces,
			"add what happens to a pod after its start-up to its OTLP trace: container runs that ended and, with "+
				"--events=cluster, the kubelet's Events"),
		{
			Name: "verify-interval", Variable: "VERIFY_INTERVAL", Value: "off|DURATION", Default: verifyOff,
			Help: "how often to compare the watched pods with a list and repair differences, +/-10 %: off, or 10s " +
				"to 24h; before Kubernetes 1.34 each list makes the API server read all pods of the cluster",
			Set: c.setVerifyInterval,
		},
		flags.Switch("watch-delays", "WATCH_DELAYS", &c.watchDelays,
			"export metrics of the delay of the pod and Event watches, measured by the timestamps of the objects"),
	}
}

// keepTable is the part of run's table about files, and about what the agent serves for debugging.
func (c *config) keepTable() flags.Table {
	return flags.Table{
		{
			Name: "state-dir", Variable: "STATE_DIR", Value: "DIR",
			Help: "directory for a state file of at most 16 MiB that preserves start-ups in progress across " +
				"restarts; each agent needs its own; if unset, a restart loses start-ups in progress",
			Set: flags.Text(&c.stateDir),
		},
		{
			Name: "record-observations", Variable: "RECORD_OBSERVATIONS", Value: "FILE",
			Help: "file to append every observation to, at most 256 MiB, for podlapse-agent replay",
			Set:  flags.Text(&c.recordObservations),
		},
		flags.Switch("debug-observations", "DEBUG_OBSERVATIONS", &c.debugObservations,
			"keep the latest observations in up to 4 MiB of memory and serve them at /debug/observations, over "+
				"loopback only"),
		flags.Switch("debug-profiles", "DEBUG_PROFILES", &c.profiles,
			"serve Go profiles of the agent at /debug/pprof/heap, allocs, goroutine and profile, over loopback only"),
	}
}

func (c *config) recordsFlag() flags.Flag {
	help := "JSON lines to write to standard output for each completed start-up: "
	for _, format := range recordFormats() {
		help += format.name + ", " + format.content + "; "
	}
	choices := recordChoices()
	return flags.Flag{
		Name: "records", Variable: "RECORDS", Value: strings.Join(choices, "|"), Default: recordsTimeline,
		Help: help + strings.Join(choices[len(recordFormats()):], "; "), Set: flags.Choice(&c.records, choices...),
	}
}

// partialSwitch comes after the choice of records in the table.
func (c *config) partialSwitch() flags.Flag {
	choices := recordChoices()
	needed := "requires --records=" + flags.OneOf(choices[:len(choices)-1])
	s := flags.Switch("records-partial", "RECORDS_PARTIAL", &c.partial,
		"also write records of start-ups in progress when they change, at most once per second and pod; "+needed)
	set := s.Set
	s.Set = func(value string) error {
		err := set(value)
		if err == nil && c.partial && c.records == recordsNone {
			return errors.New(needed)
		}
		return err
	}
	return s
}

func (c *config) setNodeName(value string) error {
	if problems := validation.IsDNS1123Subdomain(value); len(problems) > 0 {
		return fmt.Errorf("invalid node name %q: must be a lower-case DNS name of letters, digits, '-' and '.'", value)
	}
	c.nodeName = value
	return nil
}

func (c *config) setCRIEndpoint(value string) error {
	if value == "" {
		return errors.New("must not be empty: use auto, off or unix:///absolute/path/of.sock")
	}
	endpoint, err := cri.ParseEndpoint(value)
	c.criEndpoint = endpoint
	return err
}

func (c *config) setListenAddress(value string) error {
	host, port, err := net.SplitHostPort(value)
	if err != nil {
		return fmt.Errorf("invalid address %q: must be [HOST]:PORT, for example :9717 or 127.0.0.1:9717", value)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("invalid port in %q: must be 0 to 65535", value)
	}
	if host != "" && net.ParseIP(host) == nil && len(validation.IsDNS1123Subdomain(host)) > 0 {
		return fmt.Errorf("invalid host in %q: must be an IP address or a DNS name", value)
	}
	c.listenAddress = value
	return nil
}

// maxHistory bounds --history-limit, in bytes, because the agent must stay small.
const maxHistory = 64 << 20

func (c *config) setHistoryLimit(value string) error {
	quantity, err := resource.ParseQuantity(strings.TrimSuffix(value, "B"))
	bytes, exact := quantity.AsInt64()
	if err != nil || !exact || bytes < 0 || bytes > maxHistory {
		return fmt.Errorf("invalid size %q: must be 0 to 64MiB, for example 4MiB or 512KiB", value)
	}
	c.historyBytes = int(bytes)
	return nil
}
