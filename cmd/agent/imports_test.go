package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/podlapse/podlapse/"

// importRules lists the imports that a package must not have: all packages whose paths begin with one of the
// prefixes. Prefixes in this module omit the module path.
var importRules = []struct {
	pkg    string
	forbid []string
	reason string
}{
	{"pkg/timeline",
		[]string{"context", "sync", "net", "os", "log", "io", "k8s.io/", "google.golang.org/", "go.uber.org/",
			"internal/reconcile", "pkg/podwatch", "pkg/cri", "pkg/export", "internal/web", "internal/health",
			"internal/recording", "internal/state", "encoding/"},
		"the core is a pure function of its evidence, so that a recording gives the same timelines as the node did"},
	{"pkg/imagepull",
		[]string{"context", "sync", "net", "os", "log", "io", "k8s.io/", "google.golang.org/", "go.uber.org/", "pkg/",
			"internal/"},
		"the core uses these rules about pulls, so they must be pure and must not use the core"},
	{"pkg/podwatch", []string{"internal/reconcile", "internal/state", "pkg/export", "internal/web", "pkg/cri"},
		"a source reports observations and must not depend on what uses them"},
	{"internal/eventwatch",
		[]string{"internal/reconcile", "internal/state", "pkg/export", "pkg/podwatch", "internal/web", "pkg/cri"},
		"a source reports observations and must not depend on what uses them"},
	{"internal/clockset",
		[]string{"internal/reconcile", "internal/state", "pkg/export", "pkg/podwatch", "internal/web", "pkg/cri"},
		"a source reports observations and must not depend on what uses them"},
	{"internal/kubeclient",
		[]string{"internal/reconcile", "internal/state", "pkg/export", "pkg/podwatch", "internal/web", "pkg/cri"},
		"the package carries requests and responses, and must not depend on their content"},
	{"pkg/cri", []string{"internal/reconcile", "internal/state", "pkg/export", "internal/web", "pkg/podwatch"},
		"a source reports observations and must not depend on what uses them"},
	{"internal/node",
		[]string{"internal/reconcile", "internal/state", "pkg/export", "internal/web", "pkg/cri", "internal/probe"},
		"the package turns objects into facts about the node, and must not depend on what uses the facts"},
	{"internal/nodestart",
		[]string{"context", "sync", "net", "os", "log", "io", "k8s.io/", "internal/", "pkg/client", "pkg/cri",
			"pkg/export", "pkg/podwatch"},
		"the start-up of a node is a pure function of its evidence"},
	{"internal/probe",
		[]string{"internal/reconcile", "internal/state", "pkg/export", "internal/web", "pkg/cri", "pkg/podwatch",
			"internal/node", "pkg/timeline", "k8s.io/client-go"},
		"probes know only their file; they get functions for requests that need the agent's connections"},
	{"internal/runtimeproxy",
		[]string{"net/http", "os/exec", "pkg/timeline", "internal/reconcile", "internal/state", "pkg/export",
			"internal/web", "pkg/podwatch", "internal/recording", "pkg/client", "k8s.io/"},
		"the process that holds the runtime's socket must contain only what the allowed calls need"},
	{"internal/reconcile",
		[]string{"pkg/podwatch", "pkg/cri", "internal/node", "internal/probe", "internal/state", "pkg/export",
			"internal/web", "k8s.io/", "google.golang.org/"},
		"the reconciler owns the state, and must work in the same way with any source and any reader"},
	{"internal/recording",
		[]string{"internal/reconcile", "internal/recorder", "internal/sink", "internal/state", "pkg/podwatch",
			"pkg/cri", "pkg/export", "internal/web", "internal/health", "k8s.io/", "google.golang.org/", "go.uber.org/",
			"github.com/prometheus/"},
		"a recording holds observations in the core's terms and must replay without any part of the agent"},
	{"internal/recorder",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "pkg/export", "internal/web",
			"internal/health", "k8s.io/", "google.golang.org/"},
		"the recorder gets observations from any source and must not depend on a source"},
	{"internal/state",
		[]string{"internal/reconcile", "pkg/podwatch", "pkg/cri", "pkg/export", "internal/web", "internal/health",
			"k8s.io/", "google.golang.org/"},
		"the state file holds observations in the format of recordings, possibly written by another version"},
	{"pkg/export",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "internal/web", "k8s.io/"},
		"an output only reads timelines"},
	{"pkg/export", []string{"go.opentelemetry.io/", "internal/otlp"},
		"metrics for Prometheus must not need OpenTelemetry"},
	{"internal/otlp",
		[]string{"internal/reconcile", "internal/recording", "internal/state", "pkg/podwatch", "pkg/cri", "pkg/export",
			"internal/web", "k8s.io/", "go.opentelemetry.io/otel/sdk/trace/tracetest"},
		"an output only reads timelines"},
	{"internal/web",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "pkg/export", "k8s.io/"},
		"the API serves snapshots and must not reach a source"},
	{"internal/factor",
		[]string{"context", "sync", "os", "net", "internal/", "pkg/client", "pkg/cri", "pkg/export", "pkg/podwatch",
			"k8s.io/"},
		"a factor depends only on records and on the time"},
	{"internal/history",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "pkg/export", "internal/web",
			"internal/live", "k8s.io/"},
		"the history keeps what was reported about a pod and must not reach a source"},
	{"internal/tally",
		[]string{"internal/reconcile", "internal/state", "internal/history", "pkg/podwatch", "pkg/cri", "pkg/export",
			"internal/web", "internal/live", "k8s.io/"},
		"the sums keep what was reported about pods and must not reach a source or the disk"},
	{"internal/live",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "pkg/export", "internal/web",
			"internal/history", "net", "k8s.io/"},
		"a change must be the same over every transport"},
	{"internal/filter",
		[]string{"context", "sync", "os", "net/http", "internal/reconcile", "internal/state", "pkg/podwatch",
			"pkg/cri", "pkg/export", "internal/web", "k8s.io/api", "k8s.io/client-go"},
		"a filter is pure; the only package of Kubernetes that it needs is that of label selectors"},
	{"pkg/api",
		[]string{"context", "sync", "net", "os", "log", "io", "internal/", "pkg/client", "pkg/cri", "pkg/export",
			"pkg/podwatch", "k8s.io/", "google.golang.org/", "go.uber.org/", "github.com/"},
		"a program that reads records or responses must not need any other part of the agent"},
	{"pkg/client",
		[]string{"internal/", "pkg/cri", "pkg/export", "pkg/podwatch",
			"k8s.io/", "google.golang.org/", "go.uber.org/", "github.com/"},
		"a client of the API needs the types of package api and net/http, but no part of the agent"},
	{"internal/page",
		[]string{"context", "sync", "net", "os", "pkg/", "internal/", "k8s.io/", "github.com/", "google.golang.org/",
			"go.uber.org/"},
		"the page is only files; it uses the API like any other client"},
	{"internal/agents",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "pkg/export", "internal/web",
			"internal/live", "internal/history", "internal/recording",
			"k8s.io/api/", "k8s.io/client-go/kubernetes/", "k8s.io/client-go/tools/"},
		"the package finds agents for the command line; its libraries must not cost the agent memory"},
	{"internal/cli",
		[]string{"internal/reconcile", "internal/state", "internal/web", "internal/live", "internal/history",
			"internal/node", "internal/probe", "internal/recorder", "internal/runtimeproxy", "pkg/podwatch", "pkg/cri",
			"pkg/export", "k8s.io/api/", "k8s.io/client-go/kubernetes/", "k8s.io/client-go/informers/",
			"k8s.io/client-go/tools/cache/"},
		"a program that only queries agents must not need the code of the agent"},
	{"internal/render",
		[]string{"context", "sync", "os", "net", "pkg/cri", "pkg/export", "pkg/podwatch", "k8s.io/",
			"google.golang.org/", "go.uber.org/", "github.com/"},
		"what is printed depends only on the records, also in programs that only query agents"},
	{"internal/jsonlines",
		[]string{"internal/reconcile", "internal/state", "internal/web", "pkg/cri", "pkg/export", "pkg/podwatch",
			"k8s.io/"},
		"an output only reads timelines"},
	{"internal/livepull",
		[]string{"context", "sync", "net", "os", "internal/reconcile", "internal/state", "internal/web", "pkg/cri",
			"pkg/export", "pkg/podwatch", "k8s.io/"},
		"the pulls in progress depend only on timelines and downloads"},
	{"internal/registrylabel",
		[]string{"context", "sync", "net", "os", "internal/", "k8s.io/", "github.com/prometheus/"},
		"a label depends only on the pulls"},
	{"internal/transition",
		[]string{"context", "sync", "net", "os", "internal/", "pkg/cri", "pkg/export", "pkg/podwatch", "k8s.io/",
			"google.golang.org/", "go.uber.org/", "github.com/"},
		"a compatible format must be easy to remove, so it needs only timelines and the types of package api"},
	{"internal/traceevent",
		[]string{"context", "sync", "net", "os", "internal/", "pkg/cri", "pkg/export", "pkg/podwatch", "k8s.io/",
			"google.golang.org/", "go.uber.org/", "github.com/"},
		"a trace depends only on a record"},
	{"internal/flags",
		[]string{"net", "os", "pkg/", "internal/", "k8s.io/", "github.com/prometheus/", "github.com/spf13/"},
		"a table of flags must not depend on the meaning of the flags"},
	{"internal/top",
		[]string{"context", "sync", "os", "net", "internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri",
			"pkg/export", "internal/web", "internal/agents", "k8s.io/"},
		"what is shown depends only on the agents' responses and on the time"},
	{"internal/report",
		[]string{"context", "sync", "os", "net", "internal/tally", "internal/history", "internal/terminal",
			"internal/fleetmetrics", "pkg/client",
			"pkg/cri", "pkg/export", "pkg/podwatch", "k8s.io/", "github.com/prometheus/"},
		"a report depends only on the sums of the agents or of Prometheus"},
	{"internal/fleetmetrics",
		[]string{"os", "internal/agents", "internal/reconcile", "internal/state", "internal/web", "internal/terminal",
			"pkg/client", "pkg/cri", "pkg/export", "pkg/podwatch", "k8s.io/"},
		"the queries need only a Prometheus server and the types of a report"},
	{"internal/workload",
		[]string{"context", "sync", "os", "net", "internal/", "pkg/client", "pkg/cri", "pkg/export", "pkg/podwatch",
			"k8s.io/"},
		"a summary depends only on records"},
	{"internal/whatif",
		[]string{"context", "sync", "os", "net", "internal/", "pkg/client", "pkg/cri", "pkg/export", "pkg/podwatch",
			"k8s.io/"},
		"a prediction depends only on a record"},
	{"internal/terminal", []string{"pkg/", "internal/", "k8s.io/", "net"},
		"what a terminal can display must not depend on what is displayed"},
	{"internal/kubeauth",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "pkg/export", "internal/web",
			"k8s.io/apiserver/", "k8s.io/client-go/kubernetes/"},
		"the package reviews tokens for any server; the usual libraries would take most of the agent's memory"},
	{"internal/annotate",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "pkg/export", "internal/web",
			"k8s.io/client-go/kubernetes/"},
		"the annotator gets objects and timelines through functions, from any provider"},
	{"internal/feature",
		[]string{"internal/annotate", "internal/podobjects", "internal/podverify", "internal/probe",
			"internal/watchdelay", "internal/transition", "internal/reconcile", "internal/state", "internal/web",
			"pkg/cri", "pkg/export"},
		"the rules that connect features to the agent must not depend on a single feature"},
	{"internal/podobjects",
		[]string{"internal/reconcile", "internal/state", "internal/web", "pkg/cri", "pkg/export", "pkg/podwatch",
			"k8s.io/client-go"},
		"the cache gets its objects through methods"},
	{"internal/podverify",
		[]string{"internal/reconcile", "internal/state", "internal/web", "internal/kubeclient", "pkg/cri", "pkg/export",
			"k8s.io/client-go"},
		"a comparison uses only the pod watch"},
	{"internal/redact", []string{"context", "sync", "net", "os", "log", "io", "k8s.io/", "pkg/", "internal/"},
		"what is removed from a text depends only on the text"},
	{"internal/untrusted",
		[]string{"context", "sync", "net", "os", "log", "io", "k8s.io/api/", "k8s.io/client-go", "pkg/", "internal/"},
		"how a text is limited depends only on the text"},
	{"internal/sink", []string{"pkg/", "internal/", "k8s.io/", "google.golang.org/"},
		"a queue must not depend on its items"},
	{"internal/peer", []string{"pkg/", "internal/", "k8s.io/", "net/http"},
		"every server must identify its clients in the same way"},
	{"internal/health", []string{"pkg/", "internal/", "k8s.io/"},
		"every part reports its health, so health must not import a part"},
}

func TestImportsFollowTheLayers(t *testing.T) {
	for _, rule := range importRules {
		files := 0
		for path, file := range sourceFiles(t, filepath.Join("../..", rule.pkg)) {
			files++
			if filepath.Base(path) == "feature.go" {
				continue // connects a removable feature to the agent: see TestFeaturesAreRemovable
			}
			for _, spec := range file.Imports {
				name, _ := strconv.Unquote(spec.Path.Value)
				name = strings.TrimPrefix(name, module)
				for _, prefix := range rule.forbid {
					if name == prefix || strings.HasPrefix(name, strings.TrimSuffix(prefix, "/")+"/") {
						t.Errorf("%s imports %s: %s", path, name, rule.reason)
					}
				}
			}
		}
		if files == 0 {
			t.Errorf("no source files in %s", rule.pkg)
		}
	}
}

// importers lists packages with restricted use. Only the packages in the field "by" can import these packages.
var importers = []struct {
	pkg    string
	by     []string
	reason string
}{
	{"internal/eventwatch", []string{"cmd/agent"},
		"the core requests Events by timeline.EventWatch, so that no other package needs the source"},
	{"internal/kubeclient", []string{"cmd/agent", "internal/eventwatch", "internal/node", "pkg/podwatch"},
		"cmd/agent creates the clients; only sources need more of the package than a client"},
}

func TestImportersAreAllowed(t *testing.T) {
	for _, dir := range sourceDirectories(t) {
		for path, file := range sourceFiles(t, filepath.Join("../..", dir)) {
			for _, spec := range file.Imports {
				name, _ := strconv.Unquote(spec.Path.Value)
				for _, rule := range importers {
					if name == module+rule.pkg && !slices.Contains(rule.by, dir) {
						t.Errorf("%s imports %s: %s", path, rule.pkg, rule.reason)
					}
				}
			}
		}
	}
}

// TestQueryCommandsLinkNoAgent checks all dependencies of a program with the commands of internal/cli.
func TestQueryCommandsLinkNoAgent(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../../internal/cli").Output()
	if err != nil {
		t.Fatalf("list the dependencies of internal/cli: %v", err)
	}
	for dep := range strings.FieldsSeq(string(output)) {
		for _, agents := range []string{
			module + "pkg/cri", module + "pkg/export", module + "pkg/podwatch", module + "internal/reconcile",
			"k8s.io/cri-api", "k8s.io/api/",
			"k8s.io/client-go/informers", "k8s.io/client-go/kubernetes", "k8s.io/client-go/tools/cache",
			"google.golang.org/grpc", "go.uber.org/zap", "github.com/prometheus/client_golang/prometheus",
		} {
			if strings.HasPrefix(dep, agents) {
				t.Errorf("internal/cli links %s, which only agents need", dep)
			}
		}
	}
}

// TestPublicTypesLinkNoAgent checks all dependencies of a program that reads records or queries agents.
func TestPublicTypesLinkNoAgent(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../../pkg/api", "../../pkg/client").Output()
	if err != nil {
		t.Fatalf("list the dependencies of pkg/api and pkg/client: %v", err)
	}
	for dep := range strings.FieldsSeq(string(output)) {
		for _, agents := range []string{
			module + "internal/", module + "pkg/cri", module + "pkg/export", module + "pkg/podwatch",
			"github.com/prometheus/", "go.opentelemetry.io/", "golang.org/x/term", "google.golang.org/", "k8s.io/",
		} {
			if strings.HasPrefix(dep, agents) {
				t.Errorf("pkg/api or pkg/client links %s, which only agents need", dep)
			}
		}
	}
}

// TestCoreReadsNoClock looks for the functions of package time that read the clock or start timers.
func TestCoreReadsNoClock(t *testing.T) {
	clock := map[string]bool{"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true,
		"Tick": true, "NewTimer": true, "NewTicker": true}
	for _, pkg := range []string{"pkg/timeline", "pkg/imagepull", "internal/nodestart"} {
		for path, file := range sourceFiles(t, filepath.Join("../..", pkg)) {
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && clock[s.Sel.Name] {
						t.Errorf("%s calls time.%s: time is an argument in the core", path, s.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

// sourceFiles parses the files of a package, without its tests and subpackages.
func sourceFiles(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && path != dir {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, 0)
		return err
	})
	if err != nil {
		t.Fatalf("read %s: %v", dir, err)
	}
	return files
}
