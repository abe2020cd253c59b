package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/podlapse/podlapse/"

// importRules hold the direction of imports. A rule forbids every import that begins with one of the
// prefixes; ours are written without the module's path.
var importRules = []struct {
	pkg    string
	forbid []string
	reason string
}{
	{"pkg/timeline",
		[]string{"context", "sync", "net", "os", "log", "io", "k8s.io/", "google.golang.org/", "go.uber.org/",
			"internal/reconcile", "pkg/podwatch", "pkg/cri", "pkg/export", "internal/web", "internal/health",
			"internal/record", "internal/state", "encoding/"},
		"the core is a pure function of its evidence: what it prints from a recording is what it printed on the node"},
	{"pkg/imagepull",
		[]string{"context", "sync", "net", "os", "log", "io", "k8s.io/", "google.golang.org/", "go.uber.org/", "pkg/",
			"internal/"},
		"pull knowledge is pure and serves the core, never the other way round"},
	{"pkg/podwatch", []string{"internal/reconcile", "internal/state", "pkg/export", "internal/web", "pkg/cri"},
		"sources observe; they do not know who listens"},
	{"pkg/cri", []string{"internal/reconcile", "internal/state", "pkg/export", "internal/web", "pkg/podwatch"},
		"sources observe; they do not know who listens"},
	{"internal/node",
		[]string{"internal/reconcile", "internal/state", "pkg/export", "internal/web", "pkg/cri", "internal/probe"},
		"it turns objects into facts about the node; it does not know who listens"},
	{"internal/probe",
		[]string{"internal/reconcile", "internal/state", "pkg/export", "internal/web", "pkg/cri", "pkg/podwatch",
			"internal/node", "pkg/timeline", "k8s.io/client-go"},
		"probes ask what the file lists and know nothing about pods; they get the agent's own questions as functions"},
	{"internal/runtimeproxy",
		[]string{"net/http", "os/exec", "pkg/timeline", "internal/reconcile", "internal/state", "pkg/export",
			"internal/web", "pkg/podwatch",
			"internal/record", "pkg/client", "k8s.io/"},
		"who holds the runtime's socket knows the list of calls, and nothing of the agent besides"},
	{"internal/reconcile",
		[]string{"pkg/podwatch", "pkg/cri", "internal/node", "internal/probe", "internal/state", "pkg/export",
			"internal/web", "k8s.io/", "google.golang.org/"},
		"the owner of state works the same whatever feeds it and whoever reads"},
	{"internal/record",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "pkg/export", "internal/web",
			"internal/health", "k8s.io/", "google.golang.org/"},
		"a recording is what the core is told, in the core's words; it replays without the sources it came from"},
	{"internal/state",
		[]string{"internal/reconcile", "pkg/podwatch", "pkg/cri", "pkg/export", "internal/web", "internal/health",
			"k8s.io/", "google.golang.org/"},
		"the state file holds observations in the format of a recording; another version may have written it"},
	{"pkg/export",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "internal/web", "k8s.io/"},
		"exporters only read timelines"},
	{"pkg/export", []string{"go.opentelemetry.io/", "internal/otlp"},
		"what Prometheus and standard output get needs no OpenTelemetry"},
	{"internal/otlp",
		[]string{"internal/reconcile", "internal/record", "internal/state", "pkg/podwatch", "pkg/cri", "internal/web",
			"k8s.io/",
			"go.opentelemetry.io/otel/sdk/trace/tracetest"}, "exporters only read timelines"},
	{"internal/web", []string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "k8s.io/"},
		"the API serves snapshots; it reaches no source"},
	{"internal/history",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "internal/web", "internal/live",
			"k8s.io/"},
		"what is kept of a pod is what is told of it; it reaches no source"},
	{"internal/live",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "internal/web",
			"internal/history", "net", "k8s.io/"},
		"changes are told the same over whatever they go out"},
	{"internal/filter",
		[]string{"context", "sync", "os", "net/http", "internal/reconcile", "internal/state", "pkg/podwatch",
			"pkg/cri", "pkg/export", "internal/web",
			"k8s.io/api", "k8s.io/client-go"},
		"a filter is pure; of Kubernetes it needs the language of label selectors alone"},
	{"pkg/api",
		[]string{"context", "sync", "net", "os", "log", "io", "internal/", "pkg/client", "pkg/cri", "pkg/export",
			"pkg/podwatch", "k8s.io/", "google.golang.org/", "go.uber.org/", "github.com/"},
		"the types of records and responses must not bring their readers any other part of the agent"},
	{"pkg/client",
		[]string{"internal/", "pkg/cri", "pkg/export", "pkg/podwatch",
			"k8s.io/", "google.golang.org/", "go.uber.org/", "github.com/"},
		"a client of the API needs the types of package api and net/http, but no part of the agent"},
	{"internal/page",
		[]string{"context", "sync", "net", "os", "pkg/", "internal/", "k8s.io/", "github.com/", "google.golang.org/",
			"go.uber.org/"},
		"the page is files; it asks the API like any other client"},
	{"internal/agents",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "pkg/export", "internal/web",
			"internal/live", "internal/history", "internal/record",
			"k8s.io/api/", "k8s.io/client-go/kubernetes/", "k8s.io/client-go/tools/"},
		"who asks is no part of the agent, and what it links must not cost the agent memory"},
	{"internal/cli",
		[]string{"internal/reconcile", "internal/state", "internal/web", "internal/live", "internal/history",
			"internal/node", "internal/probe", "internal/runtimeproxy", "pkg/podwatch", "pkg/cri", "pkg/export",
			"k8s.io/api/",
			"k8s.io/client-go/kubernetes/", "k8s.io/client-go/informers/", "k8s.io/client-go/tools/cache/"},
		"a program that only queries agents must not need the code of the agent"},
	{"internal/render",
		[]string{"context", "sync", "os", "net", "pkg/cri", "pkg/export", "pkg/podwatch", "k8s.io/",
			"google.golang.org/", "go.uber.org/", "github.com/"},
		"what is printed is a function of the records alone, and commands that only query agents print it"},
	{"internal/jsonlines",
		[]string{"internal/reconcile", "internal/state", "internal/web", "pkg/cri", "pkg/podwatch", "k8s.io/"},
		"outputs only read timelines"},
	{"internal/livepull",
		[]string{"context", "sync", "net", "os", "internal/reconcile", "internal/state", "internal/web", "pkg/cri",
			"pkg/podwatch", "k8s.io/"},
		"the pulls in progress are a function of timelines and downloads, whoever observed them"},
	{"internal/registrylabel",
		[]string{"context", "sync", "net", "os", "internal/", "k8s.io/", "github.com/prometheus/"},
		"a label is a function of the pulls before it"},
	{"internal/transition",
		[]string{"context", "sync", "net", "os", "internal/", "pkg/cri", "pkg/export", "pkg/podwatch", "k8s.io/",
			"google.golang.org/", "go.uber.org/", "github.com/"},
		"a compatible format must be easy to remove, so it depends on the records' types alone"},
	{"internal/traceevent",
		[]string{"context", "sync", "net", "os", "internal/", "pkg/cri", "pkg/export", "pkg/podwatch", "k8s.io/",
			"google.golang.org/", "go.uber.org/", "github.com/"},
		"a trace is a function of a record alone"},
	{"internal/flags", []string{"net", "os", "pkg/", "internal/", "k8s.io/", "github.com/"},
		"a table of flags does not depend on what the flags mean"},
	{"internal/top",
		[]string{"context", "sync", "os", "net", "net/http", "internal/reconcile", "internal/state", "pkg/podwatch",
			"pkg/cri", "internal/web", "internal/agents", "k8s.io/"},
		"what is shown is a function of what was told and of the time"},
	{"internal/terminal", []string{"pkg/", "internal/", "k8s.io/", "net"},
		"what a terminal can bear does not depend on what is shown"},
	{"internal/kubeauth",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "pkg/export", "internal/web",
			"k8s.io/apiserver/", "k8s.io/client-go/kubernetes/"},
		"it reviews for whoever serves; the ready-made libraries cost most of the memory that the agent has"},
	{"internal/annotate",
		[]string{"internal/reconcile", "internal/state", "pkg/podwatch", "pkg/cri", "internal/web",
			"k8s.io/client-go/kubernetes/"},
		"who annotates is shown objects and asks for timelines, whoever has them"},
	{"internal/redact", []string{"context", "sync", "net", "os", "log", "io", "k8s.io/", "pkg/", "internal/"},
		"what is taken out of a text depends on the text alone"},
	{"internal/sink", []string{"pkg/", "internal/", "k8s.io/", "google.golang.org/"},
		"a queue knows nothing of what waits in it"},
	{"internal/peer", []string{"pkg/", "internal/", "k8s.io/", "net/http"},
		"limits of any server tell clients apart the same"},
	{"internal/health", []string{"pkg/", "internal/", "k8s.io/"}, "anything may report its health"},
}

func TestImportsPointInwards(t *testing.T) {
	for _, rule := range importRules {
		files := 0
		for path, file := range sourceFiles(t, filepath.Join("../..", rule.pkg)) {
			files++
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

// TestAskingLinksNoAgent lists everything that a program with the commands of internal/cli links.
func TestAskingLinksNoAgent(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../../internal/cli").Output()
	if err != nil {
		t.Fatalf("list the dependencies of internal/cli: %v", err)
	}
	for dep := range strings.FieldsSeq(string(output)) {
		for _, agents := range []string{
			module + "pkg/cri", module + "pkg/export", module + "pkg/podwatch", module + "internal/reconcile",
			"k8s.io/cri-api", "k8s.io/api/",
			"k8s.io/client-go/informers", "k8s.io/client-go/kubernetes", "k8s.io/client-go/tools/cache",
			"google.golang.org/grpc",
		} {
			if strings.HasPrefix(dep, agents) {
				t.Errorf("internal/cli links %s, which only agents need", dep)
			}
		}
	}
}

// TestPublicTypesLinkNoAgent lists everything that a program links which reads records or queries agents.
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
	for _, pkg := range []string{"pkg/timeline", "pkg/imagepull"} {
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

// sourceFiles parses the package's files, tests and packages of fakes left out.
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

// TestArchitectureListsEveryPackage compares the repository layout in docs/architecture.md with the packages that there
// are.
func TestArchitectureListsEveryPackage(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed, found []string
	row := regexp.MustCompile(`(?m)^((?:cmd|pkg|internal)/[a-z/]+)/ +\S`)
	for _, match := range row.FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, match[1])
	}
	for _, top := range []string{"cmd", "pkg", "internal"} {
		err := filepath.WalkDir(filepath.Join("../..", top), func(path string, entry fs.DirEntry, err error) error {
			fake := strings.HasSuffix(entry.Name(), "test") || entry.Name() == "standin" || entry.Name() == "testdata"
			if err != nil || !entry.IsDir() {
				return err
			}
			if fake {
				return fs.SkipDir
			}
			if files := sourceFiles(t, path); len(files) > 0 {
				found = append(found, strings.TrimPrefix(filepath.ToSlash(path), "../../"))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(listed)
	slices.Sort(found)
	if !slices.Equal(listed, found) {
		t.Errorf("docs/architecture.md lists\n%q, there are\n%q", listed, found)
	}
}
