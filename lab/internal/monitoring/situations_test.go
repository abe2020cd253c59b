package monitoring

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// situation is a row of the table in docs/monitoring.md. The row contains the severity of each alert that must fire.
// All other alerts must not fire.
type situation struct {
	name  string
	fires map[string]string
}

const silent = "–"

// situations reads the rows of the table in docs/monitoring.md.
func situations(t *testing.T) []situation {
	t.Helper()
	_, text, found := strings.Cut(string(read(t, docs, "monitoring.md")), "\n| situation |")
	if !found {
		t.Fatal("docs/monitoring.md has no table of situations")
	}
	lines := strings.Split(text, "\n")
	header := cellsOf("|" + lines[0])
	var names []string
	for _, name := range header {
		names = append(names, "Podlapse"+name)
	}
	var want []string
	for _, r := range alerts(t) {
		want = append(want, r.Alert)
	}
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(names)); !slices.Equal(got, slices.Compact(want)) {
		t.Fatalf("the columns of the table are %v, but the alerts are %v", got, want)
	}
	var all []situation
	for _, line := range lines[2:] {
		cells := cellsOf(line)
		if len(cells) == 0 {
			break
		}
		if len(cells) != len(names)+1 {
			t.Fatalf("%q has %d cells, want %d", line, len(cells), len(names)+1)
		}
		s := situation{name: cells[0], fires: map[string]string{}}
		for i, cell := range cells[1:] {
			switch cell {
			case silent:
			case "critical", "warning", "info":
				s.fires[names[i]] = cell
			default:
				t.Fatalf("%s, %s: unknown cell %q", s.name, names[i], cell)
			}
		}
		all = append(all, s)
	}
	return all
}

func cellsOf(line string) (cells []string) {
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		cells = append(cells, strings.TrimSpace(cell))
	}
	return cells
}

// promtoolTest is a test file for promtool. The file contains one test.
type promtoolTest struct {
	RuleFiles []string        `yaml:"rule_files"`
	Interval  string          `yaml:"evaluation_interval"`
	Tests     []promtoolGroup `yaml:"tests"`
}

type promtoolGroup struct {
	Interval string               `yaml:"interval"`
	Input    []map[string]string  `yaml:"input_series"`
	Queries  []promtoolExpression `yaml:"promql_expr_test"`
}

type promtoolExpression struct {
	Expression string           `yaml:"expr"`
	At         string           `yaml:"eval_time"`
	Samples    []promtoolSample `yaml:"exp_samples"`
}

type promtoolSample struct {
	Labels string  `yaml:"labels"`
	Value  float64 `yaml:"value"`
}

// firedAtAnyTime is a query for all alerts that fired at any time during a situation.
const firedAtAnyTime = `group by (alertname, severity, cluster) (last_over_time(ALERTS{alertstate="firing"}[1d]))`

// testOf returns a promtool test for a situation. The test requires that exactly the given alerts have fired.
func testOf(t *testing.T, played []*fleet, fires map[string]string, cluster string) []byte {
	t.Helper()
	rules, err := filepath.Abs(filepath.Join(manifests, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	expression := promtoolExpression{Expression: firedAtAnyTime}
	for _, name := range slices.Sorted(maps.Keys(fires)) {
		labels := `{alertname="` + name + `", severity="` + fires[name] + `"`
		if cluster != "" {
			labels += `, cluster="` + cluster + `"`
		}
		expression.Samples = append(expression.Samples, promtoolSample{labels + "}", 1})
	}
	group := promtoolGroup{Interval: step.String()}
	for _, f := range played {
		end := time.Duration(f.steps-1) * step
		expression.At = end.String()
		for _, name := range slices.Sorted(maps.Keys(f.series)) {
			group.Input = append(group.Input, map[string]string{"series": name, "values": f.series[name].text()})
		}
	}
	group.Queries = []promtoolExpression{expression}
	text, err := yaml.Marshal(promtoolTest{[]string{rules}, step.String(), []promtoolGroup{group}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// run runs promtool with the test of a situation, and returns promtool's output.
func run(t *testing.T, promtool string, test []byte) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "situation.yaml")
	if err := os.WriteFile(path, test, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", path).CombinedOutput()
	return string(out), err
}

// The test simulates every situation in the table. Exactly the alerts in the table's row must fire.
func TestSituations(t *testing.T) {
	promtool := promtool(t)
	t.Parallel()
	all, known := situations(t), plays()
	var rows []string
	for _, s := range all {
		rows = append(rows, s.name)
	}
	slices.Sort(rows)
	if played := slices.Sorted(maps.Keys(known)); !slices.Equal(rows, played) {
		t.Fatalf("the table has the situations\n%s\nbut the test simulates\n%s", strings.Join(rows, "\n"),
			strings.Join(played, "\n"))
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			played, cluster := known[s.name].simulate()
			if out, err := run(t, promtool, testOf(t, played, s.fires, cluster)); err != nil {
				t.Errorf("the alerts of this row do not match the rules: %v\n%s", err, out)
			}
		})
	}
}

// A row of the table with one wrong cell must fail the test.
func TestSituationsFindWrongCells(t *testing.T) {
	promtool := promtool(t)
	t.Parallel()
	for _, s := range situations(t) {
		if s.name != "network plugin hangs on one node" {
			continue
		}
		for _, r := range alerts(t) {
			wrong := maps.Clone(s.fires)
			if wrong[r.Alert] == "" {
				wrong[r.Alert] = r.Labels["severity"]
			} else {
				delete(wrong, r.Alert)
			}
			played, cluster := plays()[s.name].simulate()
			if _, err := run(t, promtool, testOf(t, played, wrong, cluster)); err == nil {
				t.Errorf("%s: the test passes although the cell of %s is wrong", s.name, r.Alert)
			}
		}
		return
	}
	t.Fatal("the table has no situation with a network plugin that hangs")
}
