package monitoring

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"gopkg.in/yaml.v3"
)

const (
	manifests = "../../../manifests/monitoring"
	docs      = "../../../docs"
)

// rule is an alert or a recording rule of a rule file.
type rule struct {
	Record, Alert, Expr string
	For                 string
	Labels, Annotations map[string]string
}

func (r rule) name() string { return r.Record + r.Alert }

// rules returns the rules in rules.yaml in the order of the file.
func rules(t *testing.T) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Name, Interval string
			Rules          []rule
		}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(read(t, manifests, "rules.yaml")))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("no rules")
	}
	return all
}

func alerts(t *testing.T) []rule {
	t.Helper()
	var all []rule
	for _, r := range rules(t) {
		if r.Alert != "" {
			all = append(all, r)
		}
	}
	return all
}

// expression is a PromQL expression and the name of the place where it is used.
type expression struct{ where, text string }

var (
	templateQuery = regexp.MustCompile(`printf "([^"]*)"[^|}]*\| query`)
	labelValues   = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
	promqlBlock   = regexp.MustCompile("(?s)```promql\n(.*?)```")
)

// expressions returns the PromQL expressions in the rules, the alert texts, the dashboard and the documents.
func expressions(t *testing.T) []expression {
	t.Helper()
	var all []expression
	for _, r := range rules(t) {
		all = append(all, expression{r.name(), r.Expr})
		for _, text := range r.Annotations {
			for _, m := range templateQuery.FindAllStringSubmatch(text, -1) {
				all = append(all, expression{"text of " + r.name(), strings.ReplaceAll(m[1], "%q", `"x"`)})
			}
		}
	}

	var dashboard any
	if err := json.Unmarshal(read(t, manifests, "dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	before := len(all)
	walk(dashboard, func(key, value string) {
		switch key {
		case "expr":
			all = append(all, expression{"dashboard", withoutVariables(value)})
		case "definition":
			m := labelValues.FindStringSubmatch(value)
			if m == nil {
				t.Fatalf("dashboard: cannot read %s", value)
			}
			all = append(all, expression{"variable of the dashboard", "group by (" + m[2] + ") (" + m[1] + ")"})
		}
	})
	if len(all) == before {
		t.Fatal("no expressions in the dashboard")
	}

	before = len(all)
	for _, path := range append(pages(t), filepath.Join(docs, "monitoring.md"),
		filepath.Join(docs, "predecessors.md")) {
		for _, m := range promqlBlock.FindAllSubmatch(read(t, path), -1) {
			all = append(all, expression{path, string(m[1])})
		}
	}
	if len(all) == before {
		t.Fatal("no expressions in the documents")
	}
	return all
}

// walk calls the given function for every string in decoded JSON. The key is the name of the field that contains the
// string.
func walk(value any, found func(key, value string)) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if s, ok := inner.(string); ok {
				found(key, s)
			}
			walk(inner, found)
		}
	case []any:
		for _, inner := range v {
			walk(inner, found)
		}
	}
}

// pages returns the paths of all runbooks.
func pages(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(docs, "runbooks", "*.md"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no runbooks", err)
	}
	return paths
}

func parse(t *testing.T, text string) parser.Expr {
	t.Helper()
	expr, err := parser.ParseExpr(text)
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return expr
}

func read(t *testing.T, elements ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
