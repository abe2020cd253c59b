package workload

import (
	"testing"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
)

// TestNodes uses one slow node among four. The comparison of a fast node must not blame the fast node.
func TestNodes(t *testing.T) {
	var groups [][]api.Record
	for _, node := range []string{"a", "b", "c", "d"} {
		like := invented{name: node, node: node, other: 1, ready: 2}
		if node == "c" {
			like.other = 8
		}
		groups = append(groups, several(8, like))
	}
	groups = append(groups, several(2, invented{name: "e", node: "e", ready: 60}))
	nodes := Summarize(join(groups...), Options{}).Nodes
	if len(nodes) != 4 || nodes[0].Name != "c" || nodes[0].Difference.Verdict != api.MoreThanNoise {
		t.Fatalf("%+v", nodes)
	}
	for _, node := range nodes[1:] {
		if d := node.Difference; d.Verdict == api.MoreThanNoise && d.Seconds > 0 {
			t.Errorf("fast node %s is slower: %+v", node.Name, d)
		}
	}
}

// TestRevisionIsNoNode uses an old revision on one node, and a slower new revision on another node. The slower revision
// must not look like a slow node, and not like the effect of absent images.
func TestRevisionIsNoNode(t *testing.T) {
	old := several(8, invented{name: "old", node: "a", revision: "41", ready: 2, outcome: imagepull.OutcomePresent})
	latest := several(8, invented{name: "new", node: "b", revision: "42", minute: 1, pull: 1, ready: 10,
		outcome: imagepull.OutcomeDownloaded})
	got := Summarize(join(old, latest), Options{})
	for _, node := range got.Nodes {
		if node.Difference.Verdict == api.MoreThanNoise {
			t.Errorf("node %s: %+v", node.Name, node.Difference)
		}
	}
	if d := got.Images.Difference; d != nil && d.Verdict == api.MoreThanNoise {
		t.Errorf("images: %+v", d)
	}
	if got.Comparison == nil || got.Comparison.Difference.Verdict != api.MoreThanNoise {
		t.Errorf("comparison: %+v", got.Comparison)
	}
}

// TestShareOfRevisionIsNoNode uses an old and a slower new revision on two nodes, but different shares of them. The
// larger share of the slower revision must not look like a slow node, and not like the effect of absent images.
func TestShareOfRevisionIsNoNode(t *testing.T) {
	var records []api.Record
	for _, group := range []struct {
		node, revision string
		n, minute      int
		outcome        imagepull.Outcome
	}{
		{"a", "41", 20, 0, imagepull.OutcomePresent}, {"a", "42", 4, 1, imagepull.OutcomePresent},
		{"b", "41", 4, 0, imagepull.OutcomeDownloaded}, {"b", "42", 20, 1, imagepull.OutcomeDownloaded},
	} {
		like := invented{name: group.node + group.revision, node: group.node, revision: group.revision,
			minute: group.minute, ready: 2, outcome: group.outcome}
		if group.revision == "42" {
			like.ready = 10
		}
		records = append(records, several(group.n, like)...)
	}
	got := Summarize(records, Options{})
	if len(got.Nodes) != 2 || got.Images.Difference == nil {
		t.Fatalf("nodes %+v, images %+v", got.Nodes, got.Images)
	}
	for _, node := range got.Nodes {
		if node.Difference.Verdict == api.MoreThanNoise || node.Durations.StartUps != 8 || node.Others.StartUps != 8 {
			t.Errorf("node %s: %+v", node.Name, node)
		}
	}
	if got.Images.Difference.Verdict == api.MoreThanNoise {
		t.Errorf("images: %+v", got.Images)
	}
}
