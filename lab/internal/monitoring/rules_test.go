package monitoring

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"gopkg.in/yaml.v3"
)

// runbookBase is the URL of the runbooks. To use another URL, change this constant and rules.yaml.
const runbookBase = "https://github.com/podlapse/podlapse/blob/main/docs/runbooks/"

// The name of a recorded series must have the form level:metric:operation. The level contains the labels of the series.
func TestRecordedNames(t *testing.T) {
	known := allMetrics(t)
	recorded := regexp.MustCompile(`^([a-z_]+):[a-z0-9_]+:[a-z0-9]+$`)
	for _, r := range rules(t) {
		if r.Record == "" {
			continue
		}
		m := recorded.FindStringSubmatch(r.Record)
		if m == nil {
			t.Errorf("%s is not level:metric:operation", r.Record)
			continue
		}
		if m[1] == "podlapse" || m[1] == "fleet" { // a constant, or a sum over all nodes
			continue
		}
		for level := range strings.SplitSeq(m[1], "_") {
			if !known[r.Record].labels[level] {
				t.Errorf("%s has no label %s", r.Record, level)
			}
		}
	}
}

var templateLabel = regexp.MustCompile(`\$labels\.(\w+)`)

func TestAlertLabelsAndAnnotations(t *testing.T) {
	known := allMetrics(t)
	for _, r := range alerts(t) {
		if wait, err := time.ParseDuration(r.For); err != nil || wait <= 0 {
			t.Errorf("%s: for %q: %v", r.Alert, r.For, err)
		}
		if !slices.Contains([]string{"info", "warning", "critical"}, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
		}
		if want := runbookBase + r.Alert + ".md"; r.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url %s, want %s", r.Alert, r.Annotations["runbook_url"], want)
		}
		have := known.labelsOf(parse(t, r.Expr))
		for _, name := range []string{"summary", "description"} {
			if !strings.Contains(r.Annotations[name], "{{") {
				t.Errorf("%s: the %s must name the node, registry or phase with a template", r.Alert, name)
			}
			for _, m := range templateLabel.FindAllStringSubmatch(r.Annotations[name], -1) {
				if !have[m[1]] {
					t.Errorf("%s: the %s uses label %s, but the alert has only %s", r.Alert, name, m[1], have)
				}
			}
		}
	}
}

func TestEveryAlertHasRunbook(t *testing.T) {
	var names, have []string
	for _, r := range alerts(t) {
		names = append(names, r.Alert)
	}
	for _, path := range pages(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".md")
		have = append(have, name)
		text := string(read(t, path))
		for _, heading := range []string{"# " + name, "## What it means", "## Confirm", "## What to do",
			"## When it is wrong"} {
			if !strings.Contains("\n"+text, "\n"+heading+"\n") {
				t.Errorf("%s has no %q", path, heading)
			}
		}
		if !promqlBlock.MatchString(text) {
			t.Errorf("%s has no PromQL query", path)
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); !slices.Equal(names, have) { // an alert with two severities has two rules
		t.Errorf("alerts %v, pages %v", names, have)
	}
}

// One Prometheus can evaluate the rules for several clusters. Nodes and registries in different clusters can have the
// same names, so the rules must not mix clusters.
func TestRulesKeepClustersApart(t *testing.T) {
	known := allMetrics(t)
	constant := func(expr parser.Expr) bool {
		selector, ok := expr.(*parser.VectorSelector)
		return ok && strings.HasPrefix(selector.Name, "podlapse:")
	}
	for _, r := range rules(t) {
		expr := parse(t, r.Expr)
		if have := known.labelsOf(expr); !have["cluster"] && !strings.HasPrefix(r.Record, "podlapse:") {
			t.Errorf("%s has no label cluster, only %s", r.name(), have)
		}
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			switch e := node.(type) {
			case *parser.AggregateExpr:
				if e.Without == slices.Contains(e.Grouping, "cluster") {
					t.Errorf("%s mixes clusters: %s", r.name(), e)
				}
			case *parser.BinaryExpr:
				m := e.VectorMatching
				// PromQL's function absent() returns a series without the label "cluster".
				if m == nil || constant(e.LHS) || constant(e.RHS) || strings.HasPrefix(e.LHS.String(), "absent(") {
					return nil
				}
				// Other targets on the same node can lack the label "cluster".
				if r.Record == "node:podlapse_agent:gone" && slices.Equal(m.MatchingLabels, []string{"node"}) {
					return nil
				}
				if m.On != slices.Contains(m.MatchingLabels, "cluster") {
					t.Errorf("%s matches series of different clusters: %s", r.name(), e)
				}
			}
			return nil
		})
	}
}

// unitTests returns the paths of the rule tests in promtool's format.
func unitTests(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(manifests, "tests", "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no unit tests of rules", err)
	}
	return paths
}

// For every alert, one unit test must expect that the alert fires, and one unit test must expect that the alert does
// not fire. Agents must expose all input series of the tests.
func TestUnitTestsCoverEveryAlert(t *testing.T) {
	known := exposed(t)
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, path := range unitTests(t) {
		var file struct {
			Tests []struct {
				InputSeries []struct{ Series string } `yaml:"input_series"`
				AlertTests  []struct {
					Name   string           `yaml:"alertname"`
					Alerts []map[string]any `yaml:"exp_alerts"`
				} `yaml:"alert_rule_test"`
			}
		}
		if err := yaml.NewDecoder(bytes.NewReader(read(t, path))).Decode(&file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, test := range file.Tests {
			for _, series := range test.InputSeries {
				known.check(parse(t, series.Series), func(format string, arguments ...any) {
					t.Errorf("%s: "+format, append([]any{path}, arguments...)...)
				})
			}
			for _, a := range test.AlertTests {
				if len(a.Alerts) > 0 {
					fires[a.Name] = true
				} else {
					silent[a.Name] = true
				}
			}
		}
	}
	for _, r := range alerts(t) {
		if !fires[r.Alert] || !silent[r.Alert] {
			t.Errorf("%s: a test expects that the alert fires: %t, a test expects that the alert stays silent: %t",
				r.Alert, fires[r.Alert], silent[r.Alert])
		}
	}
}

func TestPromtool(t *testing.T) {
	promtool := promtool(t)
	t.Parallel() // promtool uses one thread most of the time
	all := [][]string{{"check", "rules", filepath.Join(manifests, "rules.yaml")}}
	for _, path := range unitTests(t) {
		all = append(all, []string{"test", "rules", path})
	}
	for _, arguments := range all {
		t.Run(filepath.Base(arguments[2]), func(t *testing.T) {
			t.Parallel()
			if out, err := exec.CommandContext(t.Context(), promtool, arguments...).CombinedOutput(); err != nil {
				t.Errorf("promtool %s: %v\n%s", strings.Join(arguments[:2], " "), err, out)
			}
		})
	}
}
