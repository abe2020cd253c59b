package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podlapse/podlapse/internal/feature"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/otlp"
	"github.com/podlapse/podlapse/internal/web"
	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/export"
)

// config is the validated configuration of the agent.
type config struct {
	nodeName      string
	kubeconfig    string // path of a file; empty means the ServiceAccount of the agent's pod
	asNode        bool   // impersonate the node to read pods
	criEndpoint   cri.Endpoint
	events        string // eventsAuto, eventsOff or eventsCluster
	listenAddress string
	logLevel      zapcore.Level
	logFormat     string // formatJSON or formatConsole
	records       string // one of recordChoices
	partial       bool   // also write records of start-ups in progress

	webConfigFile string           // path of a file; empty means plain HTTP without passwords
	webRequires   web.RequiredAuth // authentication that webConfigFile requires from clients
	webAuth       string           // webAuthLocal, webAuthNone or webAuthKubernetes
	webHosts      []string

	podSeries bool // export a metric series for each pod
	workloads int  // number of workloads with their own metric series; 0 means none

	historyBytes int // memory limit of the history of deleted pods

	termination   bool // follow pods from the deletion request until their objects are removed
	rolloutTraces bool // send the pods of a rollout as one trace
	lifeTraces    bool // continue the trace of a start-up with later container runs and Events

	stateDir string // directory of the state file; empty means no state file

	recordObservations string // path of the recording; empty means no recording
	debugObservations  bool   // keep and serve the latest observations
	profiles           bool   // serve Go profiles of the agent

	node nodeConfig

	features []feature.Feature // set by flagTable; each feature stores the values of its own flags

	otlp otlp.Settings // settings from the OTEL_* environment variables, for which no flags exist
}

// The values of --events, --log-format, --records and --web-auth.
const (
	eventsAuto        = "auto"
	eventsOff         = "off"
	eventsCluster     = "cluster"
	formatJSON        = "json"
	formatConsole     = "console"
	recordsTimeline   = "timeline"
	recordsBoth       = "both"
	recordsNone       = "none"
	webAuthAuto       = "auto"
	webAuthLocal      = "local"
	webAuthNone       = "none"
	webAuthKubernetes = "kubernetes"
)

// flagTable returns the flags of the commands `run` and `check`.
func (c *config) flagTable() flags.Table {
	return slices.Concat(flags.Table{
		{
			Name: "node-name", Variable: "NODE_NAME", Value: "NAME", Required: true,
			Help: "name of the node whose pods the agent watches", Set: c.setNodeName,
		},
		{
			Name: "kubeconfig", Variable: "KUBECONFIG", Value: "FILE",
			Help: "kubeconfig file for the API server. Without this flag, the agent uses the ServiceAccount of its pod",
			Set:  flags.Text(&c.kubeconfig),
		},
		flags.Switch("impersonate-node", "IMPERSONATE_NODE", &c.asNode,
			"use the node's identity (impersonation) to read pods, so that the API server returns only this node's "+
				"pods. Requires Kubernetes 1.36 or newer. The ServiceAccount needs the RBAC verbs "+
				"impersonate:associated-node, impersonate-on:associated-node:list and "+
				"impersonate-on:associated-node:watch"),
		{
			Name: "cri-endpoint", Variable: "CONTAINER_RUNTIME_ENDPOINT",
			Value: "auto|off|unix:///PATH", Default: "auto",
			Help: "socket of the container runtime. \"auto\": the agent tries the usual paths. \"off\": the agent " +
				"does not query the runtime",
			Set: c.setCRIEndpoint,
		},
		{
			Name: "events", Variable: "EVENTS", Value: "auto|off|cluster", Default: eventsAuto,
			Help: "kubelet Events that the agent watches. \"auto\": only Events about pods whose timelines lack " +
				"evidence, for example the time of an image pull. \"cluster\": all kubelet Events of the cluster, " +
				"through one watch. This watch is open while a timeline lacks evidence, and for one minute " +
				"afterwards. With --life-traces, this watch is always open. Use \"cluster\" only in small clusters. " +
				"\"off\": no Events",
			Set: flags.Choice(&c.events, eventsAuto, eventsOff, eventsCluster),
		},
		{
			Name: "listen-address", Variable: "LISTEN_ADDRESS", Value: "[HOST]:PORT", Default: ":9717",
			Help: "address on which the agent serves metrics, health checks and its API", Set: c.setListenAddress,
		},
	}, c.webTable(), c.reportTable(), c.keepTable(), c.nodeTable(), c.featureTable())
}

// reportTable lists the flags that select what the agent logs and reports.
func (c *config) reportTable() flags.Table {
	return flags.Table{
		logLevelFlag(&c.logLevel), logFormatFlag(&c.logFormat),
		c.recordsFlag(), c.partialSwitch(),
		flags.Switch("metrics-pod-labels", "METRICS_POD_LABELS", &c.podSeries,
			"export metrics of single pods, with the labels \"namespace\" and \"pod\". At most 250 pods of the "+
				"node have these metrics"),
		{
			Name: "metrics-workloads", Variable: "METRICS_WORKLOADS", Value: "NUMBER", Default: "0",
			Help: "maximum number of workloads, such as Deployments, that have their own metrics, 0 to 50. These " +
				"metrics have the labels \"namespace\", \"workload_kind\" and \"workload\". Start-ups of all " +
				"other workloads count toward the workload \"other\". Each workload adds at most 20 series. 0: no " +
				"metrics for workloads",
			Set: c.setWorkloads,
		},
		{
			Name: "history-limit", Variable: "HISTORY_LIMIT", Value: "SIZE", Default: "4MiB",
			Help: "maximum memory for the history and the hourly sums, 0 to 64MiB. The history contains the " +
				"start-ups of the most recently deleted pods, at most 1000 pods; one start-up takes about 2 KiB. " +
				"The hourly sums contain totals of start-ups and pulls for \"kubectl podlapse report\", and take at " +
				"most a quarter of the memory. 0: disables both",
			Set: c.setHistoryLimit,
		},
		flags.Switch("termination", "TERMINATION", &c.termination,
			"measure the termination of each deleted pod, from the deletion request until the pod's object no "+
				"longer exists. For each terminating pod, the agent queries the runtime up to once per second"),
		flags.Switch("rollout-traces", "ROLLOUT_TRACES", &c.rolloutTraces,
			"send one OTLP trace for each rollout instead of one trace for each pod. The trace of a rollout "+
				"contains the start-ups of all pods with the same owner and the same revision, for example the "+
				"pods of one revision of a Deployment. Requires OTEL_EXPORTER_OTLP_ENDPOINT"),
		flags.Switch("life-traces", "LIFE_TRACES", &c.lifeTraces,
			"continue each pod's OTLP trace after the start-up: send completed container runs and the kubelet's "+
				"Events. Requires OTEL_EXPORTER_OTLP_ENDPOINT. To send the Events, also set --events=cluster"),
	}
}

// keepTable lists the flags for the agent's files and for its debugging data.
func (c *config) keepTable() flags.Table {
	return flags.Table{
		{
			Name: "state-dir", Variable: "STATE_DIR", Value: "DIR",
			Help: "directory for the state file. The state file (at most 16 MiB) preserves start-ups in progress " +
				"when the agent restarts. Each agent requires its own directory. Without this flag, a restart loses " +
				"start-ups in progress",
			Set: flags.Text(&c.stateDir),
		},
		{
			Name: "record-observations", Variable: "RECORD_OBSERVATIONS", Value: "FILE",
			Help: "file (at most 256 MiB) to which the agent appends every observation. The command \"podlapse-agent " +
				"replay FILE\" shows the start-ups in this file",
			Set: flags.Text(&c.recordObservations),
		},
		flags.Switch("debug-observations", "DEBUG_OBSERVATIONS", &c.debugObservations,
			"serve the latest observations to loopback clients at /debug/observations. The agent refuses all other "+
				"clients. The observations take up to 4 MiB of memory"),
		flags.Switch("debug-profiles", "DEBUG_PROFILES", &c.profiles,
			"serve the agent's Go profiles \"heap\", \"allocs\", \"goroutine\" and \"profile\" to loopback clients "+
				"under /debug/pprof/. The agent refuses all other clients"),
	}
}

func (c *config) recordsFlag() flags.Flag {
	help := "JSON lines that the agent writes to standard output for each completed start-up"
	for _, format := range recordFormats() {
		help += fmt.Sprintf(". %q: %s", format.name, format.content)
	}
	choices := recordChoices()
	return flags.Flag{
		Name: "records", Variable: "RECORDS", Value: strings.Join(choices, "|"), Default: recordsTimeline,
		Help: help + fmt.Sprintf(". %q: the lines of all formats. %q: no lines", recordsBoth, recordsNone),
		Set:  flags.Choice(&c.records, choices...),
	}
}

// partialSwitch returns the flag --records-partial. The table must list --records before this flag, because the
// validation of this flag uses the value of --records.
func (c *config) partialSwitch() flags.Flag {
	choices := recordChoices()
	needed := "requires --records=" + flags.OneOf(choices[:len(choices)-1])
	s := flags.Switch("records-partial", "RECORDS_PARTIAL", &c.partial,
		"also write records of start-ups in progress. The agent writes a record each time that such a start-up "+
			"changes, at most once per second for each pod; "+needed)
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
		return fmt.Errorf("invalid node name %q: must be a DNS name with only lowercase letters, digits, '-' and '.'",
			value)
	}
	c.nodeName = value
	return nil
}

func (c *config) setCRIEndpoint(value string) error {
	if value == "" {
		return errors.New("the endpoint must not be empty: use auto, off or unix:///absolute/path/of.sock")
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

// maxHistory is the largest value of --history-limit, in bytes. The maximum keeps the agent's memory small.
const maxHistory = 64 << 20

func (c *config) setWorkloads(value string) error {
	number, err := strconv.Atoi(value)
	if err != nil || number < 0 || number > export.MaxWorkloads {
		return fmt.Errorf("invalid number %q: must be 0 to %d", value, export.MaxWorkloads)
	}
	c.workloads = number
	return nil
}

func (c *config) setHistoryLimit(value string) error {
	quantity, err := resource.ParseQuantity(strings.TrimSuffix(value, "B"))
	bytes, exact := quantity.AsInt64()
	if err != nil || !exact || bytes < 0 || bytes > maxHistory {
		return fmt.Errorf("invalid size %q: must be 0 to 64MiB, for example 4MiB or 512KiB", value)
	}
	c.historyBytes = int(bytes)
	return nil
}
