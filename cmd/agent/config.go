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
	"github.com/podlapse/podlapse/internal/web"
	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/export/otlp"
)

// config is how the agent runs, after every value was checked.
type config struct {
	nodeName      string
	kubeconfig    string // a file; empty for the service account of the agent's own pod
	asNode        bool   // pods are asked for in the node's name
	criEndpoint   cri.Endpoint
	events        string // eventsAuto, eventsOff or eventsCluster
	listenAddress string
	logLevel      zapcore.Level
	logFormat     string // formatJSON or formatConsole
	records       string // recordsTimeline, recordsTransition, recordsBoth or recordsNone
	partial       string // partialOn or partialOff

	webConfigFile string    // empty: plain HTTP, no passwords
	webAsks       web.Asked // what webConfigFile asks readers for
	webAuth       string    // webAuthLocal, webAuthNone or webAuthKubernetes
	webHosts      []string

	podSeries bool // metrics with a series for each pod

	historyBytes int  // of memory for pods that are gone
	serveObjects bool // the pod objects as well

	annotate bool // pods that ask for it

	termination   bool // ends of pods are followed
	rolloutTraces bool // the pods of a rollout in one trace
	lifeTraces    bool // what comes after a start-up in its trace

	verifyInterval time.Duration // 0: pods are never compared with a list
	watchDelays    bool          // count how late watches are

	stateDir string // empty: nothing survives a restart

	recordObservations string // a file; empty for none
	debugObservations  string // debugOn or debugOff
	profiles           bool   // of the agent itself

	node   nodeConfig
	probes probeConfig

	otlp otlp.Settings // from the OTEL_* variables, for which there are no flags
}

// The values of --events, --log-format, --records, --records-partial, --debug-observations, --metrics-pod-labels,
// --serve-objects, --annotate, --termination, --rollout-traces, --life-traces, --verify-interval, --watch-delays, --impersonate-node and --web-auth.
const (
	eventsAuto        = "auto"
	eventsOff         = "off"
	eventsCluster     = "cluster"
	formatJSON        = "json"
	formatConsole     = "console"
	recordsTimeline   = "timeline"
	recordsTransition = "transition"
	recordsBoth       = "both"
	recordsNone       = "none"
	partialOn         = "on"
	partialOff        = "off"
	debugOn           = "on"
	debugOff          = "off"
	podLabelsOn       = "on"
	podLabelsOff      = "off"
	objectsOn         = "on"
	objectsOff        = "off"
	annotateOn        = "on"
	annotateOff       = "off"
	terminationOn     = "on"
	terminationOff    = "off"
	rolloutTracesOn   = "on"
	rolloutTracesOff  = "off"
	lifeTracesOn      = "on"
	lifeTracesOff     = "off"
	verifyOff         = "off"
	delaysOn          = "on"
	delaysOff         = "off"
	asNodeOn          = "on"
	asNodeOff         = "off"
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
		{
			Name: "impersonate-node", Variable: "IMPERSONATE_NODE", Value: "on|off", Default: asNodeOff, Alone: asNodeOn,
			Help: "impersonate the node when reading pods, so that the API server returns only pods of this node; " +
				"requires Kubernetes 1.36 or newer and a ServiceAccount with the verb impersonate:associated-node",
			Set: flags.OnOff(&c.asNode, asNodeOn, asNodeOff),
		},
		{
			Name: "cri-endpoint", Variable: "CONTAINER_RUNTIME_ENDPOINT", Value: "auto|off|unix:///PATH", Default: "auto",
			Help: "socket of the container runtime; auto tries the usual paths; off uses no runtime", Set: c.setCRIEndpoint,
		},
		{
			Name: "events", Variable: "EVENTS", Value: "auto|off|cluster", Default: eventsAuto,
			Help: "how to watch the kubelet's Events: auto, only for pods that need them; cluster, all with one watch while " +
				"any pod needs them, for small clusters; off, not at all",
			Set: flags.Choice(&c.events, eventsAuto, eventsOff, eventsCluster),
		},
		{
			Name: "listen-address", Variable: "LISTEN_ADDRESS", Value: "[HOST]:PORT", Default: ":9717",
			Help: "address to serve metrics, health checks and the API on", Set: c.setListenAddress,
		},
	}, c.webTable(), flags.Table{
		logLevelFlag(&c.logLevel), logFormatFlag(&c.logFormat),
		{
			Name: "records", Variable: "RECORDS", Value: "timeline|transition|both|none", Default: recordsTimeline,
			Help: "JSON lines to write to standard output for each completed start-up: timeline, its timeline; transition, " +
				"the records of kube-transition-metrics; both; none",
			Set: flags.Choice(&c.records, recordsTimeline, recordsTransition, recordsBoth, recordsNone),
		},
		{
			Name: "records-partial", Variable: "RECORDS_PARTIAL", Value: "on|off", Default: partialOff, Alone: partialOn,
			Help: "also write records of start-ups in progress when they change, at most once per second and pod; requires " +
				"--records=timeline, transition or both",
			Set: c.setPartial,
		},
		{
			Name: "metrics-pod-labels", Variable: "METRICS_POD_LABELS", Value: "on|off", Default: podLabelsOff, Alone: podLabelsOn,
			Help: "export a metric series for each pod on the node, with its namespace, name and workload, at most 250",
			Set:  flags.OnOff(&c.podSeries, podLabelsOn, podLabelsOff),
		},
		{
			Name: "history-limit", Variable: "HISTORY_LIMIT", Value: "SIZE", Default: "4MiB",
			Help: "memory for the start-ups of deleted pods, which the API still serves; about 2 KiB each, at most the latest " +
				"1000; 0 to 64MiB, 0 keeps none", Set: c.setHistoryLimit,
		},
		{
			Name: "serve-objects", Variable: "SERVE_OBJECTS", Value: "on|off", Default: objectsOff, Alone: objectsOn,
			Help: "keep the pod objects of the node in memory, about 2 KiB each, and serve them at /api/v1/objects/pods " +
				"without the fields that can hold secrets", Set: flags.OnOff(&c.serveObjects, objectsOn, objectsOff),
		},
		{
			Name: "annotate", Variable: "ANNOTATE", Value: "on|off", Default: annotateOff, Alone: annotateOn,
			Help: "write the annotation podlapse.dev/startup to pods annotated podlapse.dev/annotate: \"true\" when their " +
				"start-up completes, and the annotation timestamp to pods annotated addtime; requires a ServiceAccount " +
				"that may patch pods",
			Set: flags.OnOff(&c.annotate, annotateOn, annotateOff),
		},
		{
			Name: "termination", Variable: "TERMINATION", Value: "on|off", Default: terminationOff, Alone: terminationOn,
			Help: "follow each deleted pod until its object is gone and report where the time went: each container, the " +
				"sandbox, the object; queries the runtime once per second for each such pod",
			Set: flags.OnOff(&c.termination, terminationOn, terminationOff),
		},
		{
			Name: "rollout-traces", Variable: "ROLLOUT_TRACES", Value: "on|off", Default: rolloutTracesOff, Alone: rolloutTracesOn,
			Help: "send the start-ups of all pods of one version of one owner as a single OTLP trace instead of one " +
				"trace per pod",
			Set: flags.OnOff(&c.rolloutTraces, rolloutTracesOn, rolloutTracesOff),
		},
		{
			Name: "life-traces", Variable: "LIFE_TRACES", Value: "on|off", Default: lifeTracesOff, Alone: lifeTracesOn,
			Help: "add what happens to a pod after its start-up to its OTLP trace: container runs that ended and, with " +
				"--events=cluster, the kubelet's Events",
			Set: flags.OnOff(&c.lifeTraces, lifeTracesOn, lifeTracesOff),
		},
		{
			Name: "verify-interval", Variable: "VERIFY_INTERVAL", Value: "off|DURATION", Default: verifyOff,
			Help: "how often to compare the watched pods with a list and repair differences, +/-10 %: off, or 10s " +
				"to 24h; before Kubernetes 1.34 each list makes the API server read all pods of the cluster", Set: c.setVerifyInterval,
		},
		{
			Name: "watch-delays", Variable: "WATCH_DELAYS", Value: "on|off", Default: delaysOff, Alone: delaysOn,
			Help: "export metrics of the delay of the pod and Event watches, measured by the timestamps of the objects",
			Set:  flags.OnOff(&c.watchDelays, delaysOn, delaysOff),
		},
		{
			Name: "state-dir", Variable: "STATE_DIR", Value: "DIR",
			Help: "directory for a state file of at most 16 MiB that preserves start-ups in progress across restarts; each " +
				"agent needs its own; if unset, a restart loses start-ups in progress",
			Set: flags.Text(&c.stateDir),
		},
		{
			Name: "record-observations", Variable: "RECORD_OBSERVATIONS", Value: "FILE",
			Help: "file to append every observation to, at most 256 MiB, for podlapse-agent replay",
			Set:  flags.Text(&c.recordObservations),
		},
		{
			Name: "debug-observations", Variable: "DEBUG_OBSERVATIONS", Value: "on|off", Default: debugOff,
			Help: "keep the latest observations in up to 4 MiB of memory and serve them at /debug/observations, over " +
				"loopback only",
			Set: flags.Choice(&c.debugObservations, debugOn, debugOff),
		},
		{
			Name: "debug-profiles", Variable: "DEBUG_PROFILES", Value: "on|off", Default: profilesOff, Alone: profilesOn,
			Help: "serve Go profiles of the agent at /debug/pprof/heap, allocs, goroutine and profile, over loopback only",
			Set:  flags.OnOff(&c.profiles, profilesOn, profilesOff),
		},
	}, c.nodeTable(), c.probeTable())
}

// setPartial comes after the choice of records in the table.
func (c *config) setPartial(value string) error {
	err := flags.Choice(&c.partial, partialOn, partialOff)(value)
	if err == nil && c.partial == partialOn && c.records == recordsNone {
		return errors.New("requires --records=timeline, transition or both")
	}
	return err
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

// maxHistory bounds --history-limit, in bytes: an agent is to be small.
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
