package factor

import (
	"os"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestWorkOfMatchesRules compares the phases of a node's work with the phases in the Prometheus rules.
func TestWorkOfMatchesRules(t *testing.T) {
	rules, err := os.ReadFile("../../manifests/monitoring/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var single, containers []string
	for _, p := range timeline.Phases() {
		switch workOf(p) {
		case "":
		case workContainers:
			containers = append(containers, string(p))
		default:
			single = append(single, string(p))
		}
	}
	all := strings.Join(append(single, containers...), "|")
	for selector, uses := range map[string]int{
		strings.Join(single, "|"): 2, strings.Join(containers, "|"): 1, all: 1,
	} {
		if selector = `phase=~"` + selector + `"`; strings.Count(string(rules), selector) != uses {
			t.Errorf("rules.yaml must use the selector %s %d times: a node's work has other phases than workOf returns",
				selector, uses)
		}
	}
}
