package monitoring

import (
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// droppedSeries matches the relabeling rule in docs/install.md that drops series.
var droppedSeries = regexp.MustCompile(`(?m)^  - action: drop\n    sourceLabels: \[__name__\]\n    regex: (\S+)$`)

// The relabeling rule in the documentation must drop only series that exist. The rules, the dashboard and the documents
// must not use these series.
func TestDocumentedRelabelingDropsUnusedSeries(t *testing.T) {
	found := droppedSeries.FindSubmatch(read(t, docs, "install.md"))
	if found == nil {
		t.Fatal("docs/install.md has no relabeling that drops series")
	}
	dropped := regexp.MustCompile("^(?:" + string(found[1]) + ")$") // Prometheus also anchors regular expressions
	known := allMetrics(t)
	for _, name := range strings.Split(string(found[1]), "|") {
		if _, ok := known[name]; !ok {
			t.Errorf("no metric %s", name)
		}
	}
	checked := 0
	for _, e := range expressions(t) {
		parser.Inspect(parse(t, e.text), func(node parser.Node, _ []parser.Node) error {
			selector, ok := node.(*parser.VectorSelector)
			if !ok {
				return nil
			}
			checked++
			if dropped.MatchString(selector.Name) {
				t.Errorf("%s uses %s, which docs/install.md drops", e.where, selector.Name)
			}
			return nil
		})
	}
	if checked < 100 {
		t.Errorf("checked only %d selectors", checked)
	}
}
