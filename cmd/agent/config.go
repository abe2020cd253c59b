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

// settings is the table of the run command's flags.
func (c *config) settings() []setting {
	return slices.Concat([]setting{
		{
			flag: "node-name", variable: "NODE_NAME", value: "NAME", required: true,
			help: "name of the node whose pods the agent watches", set: c.setNodeName,
		},
		{
			flag: "kubeconfig", variable: "KUBECONFIG", value: "FILE",
			help: "kubeconfig for the API server; if unset, the pod's ServiceAccount",
			set:  func(value string) error { c.kubeconfig = value; return nil },
		},
		{
			flag: "impersonate-node", variable: "IMPERSONATE_NODE", value: "on|off", def: asNodeOff, alone: asNodeOn,
			help: "impersonate the node when reading pods, so that the API server returns only pods of this node; " +
				"requires Kubernetes 1.36 or newer and a ServiceAccount with the verb impersonate:associated-node",
			set: onOff(&c.asNode, asNodeOn, asNodeOff),
		},
		{
			flag: "cri-endpoint", variable: "CONTAINER_RUNTIME_ENDPOINT", value: "auto|off|unix:///PATH", def: "auto",
			help: "socket of the container runtime; auto tries the usual paths; off uses no runtime", set: c.setCRIEndpoint,
		},
		{
			flag: "events", variable: "EVENTS", value: "auto|off|cluster", def: eventsAuto,
			help: "how to watch the kubelet's Events: auto, only for pods that need them; cluster, all with one watch while " +
				"any pod needs them, for small clusters; off, not at all",
			set: choice(&c.events, eventsAuto, eventsOff, eventsCluster),
		},
		{
			flag: "listen-address", variable: "LISTEN_ADDRESS", value: "[HOST]:PORT", def: ":9717",
			help: "address to serve metrics, health checks and the API on", set: c.setListenAddress,
		},
	}, c.webSettings(), []setting{
		logLevelSetting(&c.logLevel), logFormatSetting(&c.logFormat),
		{
			flag: "records", variable: "RECORDS", value: "timeline|transition|both|none", def: recordsTimeline,
			help: "JSON lines to write to standard output for each completed start-up: timeline, its timeline; transition, " +
				"the records of kube-transition-metrics; both; none",
			set: choice(&c.records, recordsTimeline, recordsTransition, recordsBoth, recordsNone),
		},
		{
			flag: "records-partial", variable: "RECORDS_PARTIAL", value: "on|off", def: partialOff, alone: partialOn,
			help: "also write records of start-ups in progress when they change, at most once per second and pod; requires " +
				"--records=timeline, transition or both",
			set: c.setPartial,
		},
		{
			flag: "metrics-pod-labels", variable: "METRICS_POD_LABELS", value: "on|off", def: podLabelsOff, alone: podLabelsOn,
			help: "export a metric series for each pod on the node, with its namespace, name and workload, at most 250",
			set:  onOff(&c.podSeries, podLabelsOn, podLabelsOff),
		},
		{
			flag: "history-limit", variable: "HISTORY_LIMIT", value: "SIZE", def: "4MiB",
			help: "memory for the start-ups of deleted pods, which the API still serves; about 2 KiB each, at most the latest " +
				"1000; 0 to 64MiB, 0 keeps none", set: c.setHistoryLimit,
		},
		{
			flag: "serve-objects", variable: "SERVE_OBJECTS", value: "on|off", def: objectsOff, alone: objectsOn,
			help: "keep the pod objects of the node in memory, about 2 KiB each, and serve them at /api/v1/objects/pods " +
				"without the fields that can hold secrets", set: onOff(&c.serveObjects, objectsOn, objectsOff),
		},
		{
			flag: "annotate", variable: "ANNOTATE", value: "on|off", def: annotateOff, alone: annotateOn,
			help: "write the annotation podlapse.dev/startup to pods annotated podlapse.dev/annotate: \"true\" when their " +
				"start-up completes, and the annotation timestamp to pods annotated addtime; requires a ServiceAccount " +
				"that may patch pods",
			set: onOff(&c.annotate, annotateOn, annotateOff),
		},
		{
			flag: "termination", variable: "TERMINATION", value: "on|off", def: terminationOff, alone: terminationOn,
			help: "follow each deleted pod until its object is gone and report where the time went: each container, the " +
				"sandbox, the object; queries the runtime once per second for each such pod",
			set: onOff(&c.termination, terminationOn, terminationOff),
		},
		{
			flag: "rollout-traces", variable: "ROLLOUT_TRACES", value: "on|off", def: rolloutTracesOff, alone: rolloutTracesOn,
			help: "send the start-ups of all pods of one version of one owner as a single OTLP trace instead of one " +
				"trace per pod",
			set: onOff(&c.rolloutTraces, rolloutTracesOn, rolloutTracesOff),
		},
		{
			flag: "life-traces", variable: "LIFE_TRACES", value: "on|off", def: lifeTracesOff, alone: lifeTracesOn,
			help: "add what happens to a pod after its start-up to its OTLP trace: container runs that ended and, with " +
				"--events=cluster, the kubelet's Events",
			set: onOff(&c.lifeTraces, lifeTracesOn, lifeTracesOff),
		},
		{
			flag: "verify-interval", variable: "VERIFY_INTERVAL", value: "off|DURATION", def: verifyOff,
			help: "how often to compare the watched pods with a list and repair differences, +/-10 %: off, or 10s " +
				"to 24h; before Kubernetes 1.34 each list makes the API server read all pods of the cluster", set: c.setVerifyInterval,
		},
		{
			flag: "watch-delays", variable: "WATCH_DELAYS", value: "on|off", def: delaysOff, alone: delaysOn,
			help: "export metrics of the delay of the pod and Event watches, measured by the timestamps of the objects",
			set:  onOff(&c.watchDelays, delaysOn, delaysOff),
		},
		{
			flag: "state-dir", variable: "STATE_DIR", value: "DIR",
			help: "directory for a state file of at most 16 MiB that preserves start-ups in progress across restarts; each " +
				"agent needs its own; if unset, a restart loses start-ups in progress",
			set: func(value string) error { c.stateDir = value; return nil },
		},
		{
			flag: "record-observations", variable: "RECORD_OBSERVATIONS", value: "FILE",
			help: "file to append every observation to, at most 256 MiB, for podlapse-agent replay",
			set:  func(value string) error { c.recordObservations = value; return nil },
		},
		{
			flag: "debug-observations", variable: "DEBUG_OBSERVATIONS", value: "on|off", def: debugOff,
			help: "keep the latest observations in up to 4 MiB of memory and serve them at /debug/observations, over " +
				"loopback only",
			set: choice(&c.debugObservations, debugOn, debugOff),
		},
		{
			flag: "debug-profiles", variable: "DEBUG_PROFILES", value: "on|off", def: profilesOff, alone: profilesOn,
			help: "serve Go profiles of the agent at /debug/pprof/heap, allocs, goroutine and profile, over loopback only",
			set:  onOff(&c.profiles, profilesOn, profilesOff),
		},
	}, c.nodeSettings(), c.probeSettings())
}

// setPartial comes after the choice of records in the table.
func (c *config) setPartial(value string) error {
	err := choice(&c.partial, partialOn, partialOff)(value)
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

// onOff accepts a word for true and one for false.
func onOff(target *bool, on, off string) func(string) error {
	return func(value string) error {
		var chosen string
		err := choice(&chosen, on, off)(value)
		*target = chosen == on
		return err
	}
}

// choice accepts one of a few words.
func choice(target *string, words ...string) func(string) error {
	return func(value string) error {
		for _, word := range words {
			if value == word {
				*target = value
				return nil
			}
		}
		last := len(words) - 1
		return fmt.Errorf("invalid value %q: must be %s or %s", value, strings.Join(words[:last], ", "), words[last])
	}
}
