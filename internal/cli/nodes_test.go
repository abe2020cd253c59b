package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
)

// TestLostInShowsMostLostWork checks the limits of the column LOST IN: two kinds of work, and no kinds with little or
// negative lost time.
func TestLostInShowsMostLostWork(t *testing.T) {
	work := func(name string, lost time.Duration) factor.LostWork {
		return factor.LostWork{Work: name, Lost: api.Seconds(lost)}
	}
	for want, lost := range map[string][]factor.LostWork{
		"-":              {work("unpack", 9*time.Millisecond), work("network", -time.Second)},
		"unpack 3.900 s": {work("unpack", 3900*time.Millisecond), work("sandbox", time.Millisecond)},
		"unpack 3.900 s, sandbox 0.300 s": {
			work("unpack", 3900*time.Millisecond), work("sandbox", 300*time.Millisecond),
			work("network", 200*time.Millisecond),
		},
	} {
		if got := (listedNode{factor: factor.Node{LostIn: lost}}).lostIn(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestLongNodeNamesKeepTheirEnds checks that a narrow table distinguishes nodes whose names differ only at one end.
func TestLongNodeNamesKeepTheirEnds(t *testing.T) {
	for _, names := range [][]string{
		{"gke-fleet-default-pool-1a2b3c4d-x5y6", "gke-fleet-default-pool-1a2b3c4d-z7w8"},
		{"a-fleet-default-pool-1a2b3c4d-x5y6", "b-fleet-default-pool-1a2b3c4d-x5y6"},
	} {
		var rows []listedNode
		for _, name := range names {
			rows = append(rows, listedNode{node: api.NodeRecord{Node: name}})
		}
		text := nodesView().table(rows, listOutput{}, terminal.Page{Columns: minWidth, Fit: true}, false)
		lines := strings.Split(text, "\n")
		if lines[0] == lines[1] || !strings.Contains(lines[0], "…") {
			t.Errorf("nodes %q:\n%s", names, text)
		}
	}
}

// TestNodesShowLostWork checks the lost work in the table and in JSON. The network of node worker-2 is slow.
func TestNodesShowLostWork(t *testing.T) {
	server := clusterOf(t, shop())
	rows := strings.Split(atNoon(t, server, "nodes", "-o", "wide").stdout, "\n")
	if !strings.Contains(rows[2], "+6.300 s  network 6.300 s") || strings.Contains(rows[1], "network") {
		t.Errorf("nodes:\n%s", strings.Join(rows, "\n"))
	}
	if narrow := atNoon(t, server, "nodes").stdout; strings.Contains(narrow, "LOST") {
		t.Errorf("only -o wide shows the lost work:\n%s", narrow)
	}
	var list struct {
		Items []struct {
			Lost   float64           `json:"lost_seconds"`
			LostIn []factor.LostWork `json:"lost_by_work"`
		}
	}
	if err := json.Unmarshal([]byte(atNoon(t, server, "nodes", "-o", "json").stdout), &list); err != nil {
		t.Fatal(err)
	}
	for i, item := range list.Items {
		sum := 0.0
		for _, w := range item.LostIn {
			sum += w.Lost.Duration().Seconds()
		}
		if len(item.LostIn) != 5 || sum < item.Lost-1e-6 || sum > item.Lost+1e-6 {
			t.Errorf("node %d: %+v does not add up to the lost time", i, item)
		}
	}
	if first := list.Items[1].LostIn[0]; first.Work != "network" || first.Lost.Duration() != 6300*time.Millisecond {
		t.Errorf("the work with the most lost time is %+v", first)
	}
	// A single node has no other nodes to compare with.
	alone := clusterOf(t, shop()[1:2])
	if got := atNoon(t, alone, "nodes", "-o", "json").stdout; strings.Contains(got, "lost_by_work") {
		t.Errorf("lost work of a node without a factor:\n%s", got)
	}
}
