package monitoring

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// labelSet is a set of label names.
type labelSet map[string]bool

func setOf(names ...string) labelSet {
	set := labelSet{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

func (s labelSet) with(names ...string) labelSet {
	set := maps.Clone(s)
	maps.Copy(set, setOf(names...))
	return set
}

func (s labelSet) without(names ...string) labelSet {
	set := maps.Clone(s)
	for _, name := range names {
		delete(set, name)
	}
	return set
}

func (s labelSet) String() string { return strings.Join(slices.Sorted(maps.Keys(s)), ", ") }

// metric describes the series with one name.
type metric struct {
	labels labelSet
	counts bool // true for counters and the parts of histograms, because rates of these metrics are meaningful
}

// catalog contains the metrics, by their names.
type catalog map[string]metric

// ofTarget lists the labels that Prometheus adds to all scraped series. The labels node, cluster and node_pool are
// target labels, which docs/monitoring.md explains.
var ofTarget = []string{"job", "instance", "node", "cluster", "node_pool"}

// exposed returns the metrics in docs/metrics.md, and the metrics that Prometheus and its client library add. Another
// test, in the agent's module, compares docs/metrics.md with the agent's metrics.
func exposed(t *testing.T) catalog {
	t.Helper()
	known := catalog{
		"up":                            {labels: setOf(ofTarget...)},
		"process_start_time_seconds":    {labels: setOf(ofTarget...)},
		"process_cpu_seconds_total":     {setOf(ofTarget...), true},
		"process_resident_memory_bytes": {labels: setOf(ofTarget...)},
		"ALERTS":                        {labels: setOf("alertname", "alertstate", "cluster", "node", "registry")},
	}
	before := len(known)
	lines := bufio.NewScanner(bytes.NewReader(read(t, docs, "metrics.md")))
	for lines.Scan() {
		cells := strings.Split(lines.Text(), "|")
		name, ok := strings.CutPrefix(strings.TrimSpace(cells[min(1, len(cells)-1)]), "`")
		if !ok || len(cells) < 5 {
			continue
		}
		name = strings.TrimSuffix(name, "`")
		own := setOf(ofTarget...)
		for label := range strings.SplitSeq(cells[3], ",") {
			if label = strings.TrimSpace(label); label != "" {
				own[label] = true
			}
			if label == "namespace" || label == "pod" { // without honorLabels, Prometheus renames these two labels
				own["exported_"+label] = true
			}
		}
		switch kind := strings.TrimSpace(cells[2]); kind {
		case "gauge", "counter":
			known[name] = metric{own, kind == "counter"}
		case "histogram":
			known[name+"_bucket"] = metric{own.with("le"), true}
			known[name+"_sum"] = metric{own, true}
			known[name+"_count"] = metric{own, true}
		default:
			t.Fatalf("docs/metrics.md: %s is a %s", name, kind)
		}
	}
	if len(known) == before {
		t.Fatal("no metrics in docs/metrics.md")
	}
	return known
}

// add adds the series that a recording rule creates.
func (c catalog) add(t *testing.T, r rule) {
	t.Helper()
	if r.Record == "" {
		return
	}
	made := c.labelsOf(parse(t, r.Expr)).with(slices.Collect(maps.Keys(r.Labels))...)
	for name := range c[r.Record].labels {
		made[name] = true
	}
	c[r.Record] = metric{labels: made}
}

// allMetrics returns the exposed metrics and the recorded metrics. A rule can use series of later rules. Therefore,
// allMetrics evaluates all rules again until no labels change. The maximum number of evaluations is the number of
// rules.
func allMetrics(t *testing.T) catalog {
	t.Helper()
	known := exposed(t)
	all := rules(t)
	for range all {
		before := maps.Clone(known)
		for _, r := range all {
			known.add(t, r)
		}
		if maps.EqualFunc(before, known, func(a, b metric) bool { return maps.Equal(a.labels, b.labels) }) {
			return known
		}
	}
	t.Fatal("the labels of the recorded series still change after one round for each rule")
	return nil
}

// labelsOf returns the labels that the series of an expression can have.
func (c catalog) labelsOf(expr parser.Expr) labelSet { return c.check(expr, func(string, ...any) {}) }

// check returns the same labels as labelsOf. check also reports each metric and each label in the expression that does
// not exist.
func (c catalog) check(expr parser.Expr, problem func(string, ...any)) labelSet {
	need := func(have labelSet, what string, names ...string) {
		for _, name := range names {
			if !have[name] {
				problem("%s %s: the labels are %s", what, name, have)
			}
		}
	}
	switch e := expr.(type) {
	case *parser.VectorSelector:
		m, ok := c[e.Name]
		if !ok {
			problem("no metric %q", e.Name)
			return labelSet{}
		}
		for _, matcher := range e.LabelMatchers {
			if matcher.Name != labels.MetricName {
				need(m.labels, e.Name+" has no label", matcher.Name)
			}
		}
		return m.labels
	case *parser.MatrixSelector:
		return c.check(e.VectorSelector, problem)
	case *parser.SubqueryExpr:
		return c.check(e.Expr, problem)
	case *parser.ParenExpr:
		return c.check(e.Expr, problem)
	case *parser.UnaryExpr:
		return c.check(e.Expr, problem)
	case *parser.NumberLiteral, *parser.StringLiteral:
		return labelSet{}
	case *parser.AggregateExpr:
		inner := c.check(e.Expr, problem)
		switch {
		case e.Op == parser.TOPK || e.Op == parser.BOTTOMK:
			return inner
		case e.Without:
			return inner.without(e.Grouping...)
		}
		need(inner, "group by", e.Grouping...)
		return setOf(e.Grouping...)
	case *parser.Call:
		return c.checkCall(e, problem)
	case *parser.BinaryExpr:
		left, right := c.check(e.LHS, problem), c.check(e.RHS, problem)
		m := e.VectorMatching
		if e.LHS.Type() == parser.ValueTypeScalar {
			return right
		}
		if e.RHS.Type() == parser.ValueTypeScalar {
			return left
		}
		if m.On {
			need(left, "left of "+e.Op.String()+" on", m.MatchingLabels...)
			need(right, "right of "+e.Op.String()+" on", m.MatchingLabels...)
		} else if e.Op != parser.LOR && !maps.Equal(left.without(m.MatchingLabels...),
			right.without(m.MatchingLabels...)) {
			problem("%s matches {%s} with {%s}", e.Op, left, right)
		}
		switch {
		case e.Op == parser.LOR:
			return left.with(slices.Collect(maps.Keys(right))...)
		case e.Op.IsSetOperator():
			return left
		case m.Card == parser.CardManyToOne:
			need(right, "group_left", m.Include...)
			return left.with(m.Include...)
		case m.Card == parser.CardOneToMany:
			need(left, "group_right", m.Include...)
			return right.with(m.Include...)
		case m.On:
			return setOf(m.MatchingLabels...)
		}
		return left.without(m.MatchingLabels...)
	}
	problem("this test does not support expressions of type %T", expr)
	return labelSet{}
}

func (c catalog) checkCall(e *parser.Call, problem func(string, ...any)) labelSet {
	vector := labelSet{}
	for _, argument := range e.Args {
		if set := c.check(argument, problem); argument.Type() == parser.ValueTypeVector ||
			argument.Type() == parser.ValueTypeMatrix {
			vector = set
		}
	}
	switch e.Func.Name {
	case "increase", "rate":
		matrix, ok := e.Args[0].(*parser.MatrixSelector)
		if !ok || !c[matrix.VectorSelector.(*parser.VectorSelector).Name].counts {
			problem("%s of a metric that is not a counter", e.Func.Name)
		}
	case "label_replace":
		if source := e.Args[3].(*parser.StringLiteral).Val; source != "" && !vector[source] {
			problem("label_replace from %s: the labels are %s", source, vector)
		}
		return vector.with(e.Args[1].(*parser.StringLiteral).Val)
	case "histogram_quantile":
		if !vector["le"] {
			problem("histogram_quantile without le")
		}
		return vector.without("le")
	case "absent":
		return labelSet{}
	}
	return vector
}

func TestExpressions(t *testing.T) {
	known := allMetrics(t)
	for _, e := range expressions(t) {
		known.check(parse(t, e.text), func(format string, arguments ...any) {
			t.Errorf("%s: %s\n%s", e.where, fmt.Sprintf(format, arguments...), e.text)
		})
	}
}

// The method check must report each kind of mistake.
func TestCheckFindsInvalidExpressions(t *testing.T) {
	known := allMetrics(t)
	for _, wrong := range []string{
		`podlapse_pod_startup_duration_seconds`, // the series of a histogram have suffixes
		`podlapse_pods_starting{registry="x"}`,
		`sum by (registry) (podlapse_pods_starting)`,
		`rate(podlapse_pods_starting[5m])`,
		`histogram_quantile(0.5, sum by (node) (rate(podlapse_pod_startup_duration_seconds_bucket[5m])))`,
		`podlapse_image_pulls_failing * on (phase) group_left (cause) podlapse:phase_cause:info`,
		`podlapse_pods_starting * on (phase) group_left (culprit) podlapse:phase_cause:info`,
		`podlapse_pods_starting / podlapse_build_info`,
		`label_replace(podlapse_pods_starting, "a", "$1", "registry", "(.*)")`,
		`node:podlapse_no_such_rule:ratio1h`,
	} {
		problems := 0
		known.check(parse(t, wrong), func(string, ...any) { problems++ })
		if problems == 0 {
			t.Errorf("check must report a problem for %s", wrong)
		}
	}
}
