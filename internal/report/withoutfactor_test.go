package report

import (
	"fmt"
	"testing"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestReasonsOfRegistries has registries that have no factor for different reasons.
func TestReasonsOfRegistries(t *testing.T) {
	pulled := func(registry string, size int64) start {
		return start{node: "a", owner: "one", pull: 2, registry: registry, image: registry + "/x", size: size}
	}
	failed := func(registry string) start {
		return start{node: "a", owner: "two", state: timeline.StateDeleted, network: 1, registry: registry,
			image: registry + "/x", failedPulls: 1}
	}
	few, none, unsized := []start{pulled("few.example", 9)}, []start{failed("down.example"), failed("away.example")},
		[]start{pulled("unsized.example", 0)}
	const fewOthers = "too few other pulls with known bytes to compare with"
	for _, test := range []struct {
		starts [][]start
		want   string
	}{
		{[][]start{few}, fewOthers},
		{[][]start{few, unsized}, "2 registries have no factor; the bytes of all pulls are unknown or incomplete: " +
			"unsized.example; " + fewOthers + ": few.example"},
		{[][]start{few, unsized, none}, "4 registries have no factor; no measured download in this time: " +
			"away.example, down.example; the bytes of all pulls are unknown or incomplete: unsized.example; " +
			fewOthers + ": few.example"},
		{[][]start{several(3, few[0]), several(3, pulled("fast.example", 9)), none[:1]},
			"1 registry has no factor; no measured download in this time: down.example"},
	} {
		if got := reportOf(orders(), test.starts...).Registries.Note; got != test.want {
			t.Errorf("got\n%s\nwant\n%s", got, test.want)
		}
	}
	var many []start
	for i := range 25 {
		many = append(many, failed(fmt.Sprintf("r%02d.example", i)))
	}
	want := "25 registries have no factor; no measured download in this time: r00.example"
	for i := range maxNamed - 1 {
		want += fmt.Sprintf(", r%02d.example", i+1)
	}
	if got := reportOf(orders(), many).Registries.Note; got != want+" and 5 more" {
		t.Errorf("got\n%s\nwant\n%s and 5 more", got, want)
	}
}

// TestReasonsOfNodes has a node without any ended start-up alongside nodes that have a factor.
func TestReasonsOfNodes(t *testing.T) {
	var starts []start
	for _, node := range []string{"a", "b", "c"} {
		starts = append(starts, several(6, start{node: node, owner: "one", network: 1})...)
	}
	starts = append(starts, start{node: "d", owner: "one", network: 1, state: timeline.StateStarting})
	const want = "1 node has no factor; no start-up ended in this time: d"
	if got := reportOf(orders(), starts).Nodes.Note; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestReasonsFromPrometheus has a registry whose pulls all failed, and a registry with too few other pulls.
func TestReasonsFromPrometheus(t *testing.T) {
	m := fleetOf()
	m.Registries = MeasuredRows{"down.example": {Failures: 2}, "few.example": {Pulls: 3}}
	const want = "2 registries have no factor; no pulls with known bytes in this time: down.example; " +
		"too few other pulls with known bytes to compare with: few.example"
	if got := FromMetrics(m, 5).Registries.Note; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
