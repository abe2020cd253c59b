package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/podlapse/podlapse/docs"
	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// openAPI is the part of the document that these tests use.
type openAPI struct {
	Paths map[string]struct {
		Get struct {
			Parameters []struct {
				Ref string `json:"$ref"`
			}
			Responses map[string]any
		}
	}
	Components struct {
		Parameters map[string]struct {
			Name, In string
			Schema   struct {
				Minimum, Maximum, Default int
				Items                     struct{ Enum []string }
			}
		}
	}
}

func readOpenAPI(t *testing.T) openAPI {
	t.Helper()
	var document openAPI
	if err := json.Unmarshal(docs.OpenAPI, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// TestOpenAPIListsEveryPath reads the paths from the source code, because a mux does not list them.
func TestOpenAPIListsEveryPath(t *testing.T) {
	document := readOpenAPI(t)
	served := map[string]bool{}
	for _, pattern := range patterns(t) {
		if pattern != "/" { // the response for unknown paths
			served[strings.TrimSuffix(pattern, "{$}")] = true
		}
	}
	if len(served) < 10 {
		t.Fatalf("only %v found", served)
	}
	for path := range document.Paths {
		if !served[path] {
			t.Errorf("%s is in the document but not served", path)
		}
	}
	for path := range served {
		if _, ok := document.Paths[path]; !ok {
			t.Errorf("%s is served but not in the document", path)
		}
	}
}

func patterns(t *testing.T) []string {
	t.Helper()
	var patterns []string
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			called, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || called.Sel.Name != "Handle" && called.Sel.Name != "HandleFunc" {
				return true
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: a path that is not a literal cannot be compared with the document", entry.Name())
				return true
			}
			pattern, _ := strconv.Unquote(literal.Value)
			patterns = append(patterns, pattern)
			return true
		})
	}
	return patterns
}

// TestOpenAPIListsEveryParameter sends each parameter in the document, and unknown parameters.
func TestOpenAPIListsEveryParameter(t *testing.T) {
	document := readOpenAPI(t)
	for path, item := range document.Paths {
		if !strings.HasPrefix(path, "/api/v1/") {
			continue
		}
		var named []string
		for _, p := range item.Get.Parameters {
			parameter := document.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
			if parameter.In == "query" {
				named = append(named, parameter.Name)
			}
		}
		slices.Sort(named)
		names := strings.NewReplacer("{namespace}", "a", "{name}", "b", "{kind}", "c", "{owner}", "d")
		response := (&fake{}).ask(t, http.MethodGet, names.Replace(path)+"?no-such-parameter=1")
		if response.Code == http.StatusOK && strings.HasSuffix(path, ".json") {
			continue // handlers of documents ignore parameters
		}
		_, list, _ := strings.Cut(decode[problem](t, response).Reason, "must be one of ")
		if list != strings.Join(named, ", ") {
			t.Errorf("%s accepts %q, the document lists %q", path, list, named)
		}
	}
	parameters := document.Components.Parameters
	limit := parameters["limit"].Schema
	if limit.Minimum != 1 || limit.Maximum != maxLimit || limit.Default != defaultLimit {
		t.Errorf("limit: %+v", limit)
	}
	if got := parameters["state"].Schema.Items.Enum; fmt.Sprint(got) != fmt.Sprint(filter.States()) {
		t.Errorf("states %v, want %v", got, filter.States())
	}
}

const documentURL = "http://agent.example/api/v1/openapi.json"

// schemaOf returns a schema of the document by its JSON pointer.
func schemaOf(t *testing.T, pointer ...string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	for url, text := range map[string][]byte{documentURL: docs.OpenAPI,
		"http://agent.example/api/v1/records.schema.json": docs.RecordsSchema} {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource(url, document); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range pointer {
		pointer[i] = strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	schema, err := compiler.Compile(documentURL + "#/" + strings.Join(pointer, "/"))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func check(t *testing.T, schema *jsonschema.Schema, what string, text []byte) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s: %v\n%.3000s", what, err, text)
	}
}

// TestResponsesMatchOpenAPI sends valid and invalid requests for every path, with and without data. It validates the
// responses against the document.
func TestResponsesMatchOpenAPI(t *testing.T) {
	pulling := startuptest.Changed(startuptest.New(2), 1)
	pulling.Pulls = append(pulling.Pulls, timeline.Pull{
		Container: "late", Kind: timeline.KindMain, Image: "r.example/x:1", Registry: "r.example",
		Outcome: imagepull.OutcomePulling, RequestedAt: firstStart,
	})
	debugged := startuptest.New(1)
	debugged.EphemeralPulls = []timeline.Pull{
		{Container: "debugger", Kind: timeline.KindEphemeral, Image: "r.example/tools:1",
			Outcome: imagepull.OutcomeDownloaded},
	}
	full := &fake{
		timelines: []timeline.Timeline{debugged, pulling}, gone: startUps(3, 6),
		statuses: []health.Status{{Part: "cri", Detail: "refused", Since: firstStart},
			{Part: "pod_watch", Up: true, Since: firstStart}},
		objects: func(w io.Writer, _ func(namespace, name, labels string) bool) error {
			_, err := io.WriteString(
				w,
				`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"cache":{"connected":true,`+
					`"age_seconds":1.5,"verified_at":null},"items":[{}]}`,
			)
			return err
		},
		nodeStartUp: func() (api.NodeStartUpRecord, bool) {
			var record api.NodeStartUpRecord
			startuptest.Fill(&record)
			record.State = "ready"
			return record, true
		},
	}
	names := strings.NewReplacer("{namespace}", pulling.Namespace, "{name}", pulling.Name, "{kind}", pulling.Owner.Kind,
		"{owner}", pulling.Owner.Name)
	statuses := map[string]map[int]bool{}
	unreadable := &fake{nodeStartUp: func() (record api.NodeStartUpRecord, ok bool) { return record, false }}
	for _, path := range slices.Sorted(maps.Keys(readOpenAPI(t).Paths)) {
		if !strings.HasPrefix(path, "/api/v1/") || path == "/api/v1/stream" {
			continue
		}
		statuses[path] = map[int]bool{}
		for _, f := range []*fake{full, {}, {err: io.ErrClosedPipe, timelines: full.timelines}, unreadable} {
			for _, query := range []string{"", "?no-such-parameter=1"} {
				response := f.ask(t, http.MethodGet, names.Replace(path)+query)
				statuses[path][response.Code] = true
				place := []string{"paths", path, "get", "responses", strconv.Itoa(response.Code), "content",
					"application/json", "schema"}
				if response.Code != http.StatusOK {
					place = []string{"components", "schemas", "Problem"}
					if _, ok := readOpenAPI(t).Paths[path].Get.Responses[strconv.Itoa(response.Code)]; !ok {
						t.Errorf("%s responded %d, which is not in the document", path, response.Code)
					}
				}
				check(t, schemaOf(t, place...), path+query, response.Body.Bytes())
			}
		}
		if !statuses[path][http.StatusOK] {
			t.Errorf("%s: no response", path)
		}
		other := full.ask(t, http.MethodPost, names.Replace(path))
		_, ok := readOpenAPI(t).Paths[path].Get.Responses["default"]
		if !ok || other.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s responds to other methods with %d, and the document lacks other errors: %t", path,
				other.Code, !ok)
		}
		check(t, schemaOf(t, "components", "schemas", "Problem"), "POST "+path, other.Body.Bytes())
	}
}

// The schemas must refuse invalid responses. A schema that accepts everything would make the other tests useless.
func TestOpenAPIRefusesInvalidResponses(t *testing.T) {
	for name, text := range map[string]string{
		"PodList":  `{"items":[{}]}`,
		"Node":     `{"node":"x"}`,
		"PullList": `{"items":[],"recent":[{"container":"x"}]}`,
		"Registry": `{"registry":"x","outcomes":{},"failures":{},"in_progress":0,"bytes":0,"download_seconds":0,` +
			`"other":1}`,
		"Evidence": `{"at":"yesterday","parts":[],"start_ups":{"known":0,"reconstructed":0,"with_conflicts":0,` +
			`"with_missing":0,"with_lost_events":0,"with_unreported":0},"total_seconds":0,"unattributed_seconds":0}`,
		"Trace": `{"traceEvents":[{"ph":"X","name":"x","cat":"x","ts":0,"pid":1,"tid":1}],"displayTimeUnit":"ms",` +
			`"otherData":{}}`,
		"Problem": `{"error":"x"}`,
		"PodKey":  `{"id":"x"}`,
		"Workload": `{"node":"x","namespace":"x","owner":{"kind":"x","name":"x"},"verdict":"x","summary":{},` +
			`"differences":[],"what_if":[]}`,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if schemaOf(t, "components", "schemas", name).Validate(value) == nil {
			t.Errorf("%s takes %s", name, text)
		}
	}
}
