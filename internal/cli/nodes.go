package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// nodesConfig selects nodes and the format of their output.
type nodesConfig struct{ listConfig }

func (c *nodesConfig) table() flags.Table {
	return slices.Concat(c.noNamespaces("nodes"), c.listOutput.table(orderNames(nodeOrders())), c.target.table())
}

// listedNode is the data of a row in the list of nodes.
type listedNode struct {
	factor   factor.Node
	node     api.NodeRecord
	evidence api.EvidenceRecord
}

// nodeItem is a node in JSON and YAML output.
type nodeItem struct {
	factor.Node
	Starting     int                 `json:"starting"`
	WorstPhase   *api.StartingRecord `json:"worst_phase,omitempty"`
	Evidence     api.EvidenceCounts  `json:"evidence"`
	SourcesDown  []string            `json:"sources_down"`
	ClockSkew    *api.SkewRecord     `json:"clock_skew,omitempty"`
	AgentVersion string              `json:"agent_version"`
}

func runNodes(ctx context.Context, call Call) int {
	var c nodesConfig
	agentQuery, rest, code, ok := begin(call, c.table(), &c.target, c.check, 2)
	if !ok {
		return code
	}
	defer agentQuery.close()
	var err error
	if agentQuery.target.node, err = agentQuery.nodeName(rest, c.node); err != nil {
		return call.FailUsage(err)
	}
	return show(ctx, agentQuery, nodesView(), c.listOutput, c.limit, agentQuery.nodes)
}

// nodeResponse contains the responses of one agent for the list of nodes.
type nodeResponse struct {
	node     api.NodeRecord
	evidence api.EvidenceRecord
	totals   api.TotalsRecord
}

// nodes queries all agents, because the node factor compares a node with all other nodes. If the user named a node, the
// result contains only this node.
func (a agentQuery) nodes(ctx context.Context) ([]listedNode, []error, error) {
	found, err := a.agents(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	window := factor.TimeWindow{Since: a.Now().Add(-factor.Window)}
	fleet := factor.NewFleet()
	var rows []listedNode
	_, failed, err := eachAgent(ctx, a, found, func(ctx context.Context, c client.Client) (nodeResponse, error) {
		var response nodeResponse
		var err error
		if response.node, err = c.Node(ctx); err != nil {
			return response, err
		}
		if response.evidence, err = c.Evidence(ctx); err != nil {
			return response, err
		}
		response.totals, err = totalsOf(ctx, c, window)
		return response, err
	}, func(response agents.Result[nodeResponse]) {
		node := response.Value.node
		fleet.Add(node.Node, response.Value.totals)
		if a.target.node == "" || a.target.node == node.Node {
			rows = append(rows, listedNode{node: node, evidence: response.Value.evidence})
		}
	})
	if err != nil {
		return nil, nil, err
	}
	if len(rows) == 0 {
		for _, err := range failed {
			var ofAgent *nodeError
			if errors.As(err, &ofAgent) && ofAgent.node == a.target.node {
				return nil, nil, err
			}
		}
		return nil, nil, agents.NoAgentOn(a.target.node, a.target.agentNamespace)
	}
	results := map[string]factor.Node{}
	for _, result := range fleet.Nodes() {
		results[result.Node] = result
	}
	for i := range rows {
		rows[i].factor = results[rows[i].node.Node]
	}
	slices.SortFunc(rows, func(x, y listedNode) int { return cmp.Compare(x.node.Node, y.node.Node) })
	return rows, failed, nil
}

func nodesView() view[listedNode] {
	return view[listedNode]{
		columns: []column[listedNode]{
			{title: "NODE", shorten: terminal.ClipMiddle, optional: true, cell: listedNode.name},
			{title: "FACTOR", right: true, cell: func(n listedNode) string { return factorText(n.factor.Factor) },
				style: func(n listedNode) terminal.Style { return factorStyle(n.factor.Factor, slowNode) }},
			{title: "STARTING", right: true, cell: func(n listedNode) string { return fmt.Sprint(n.starting()) }},
			{title: "WORST PHASE", shorten: terminal.Clip, cell: listedNode.worst},
			{title: "CAUSE", optional: true, cell: listedNode.cause, style: func(n listedNode) terminal.Style {
				return render.CauseStyle(timeline.Cause(n.cause()))
			}},
			{title: "EVIDENCE", shorten: terminal.Clip, cell: listedNode.quality},
			{title: "START-UPS", wide: true, right: true,
				cell: func(n listedNode) string { return fmt.Sprint(n.factor.StartUps) }},
			{title: "LOST", wide: true, right: true, cell: listedNode.lost},
			{title: "LOST IN", wide: true, shorten: terminal.Clip, cell: listedNode.lostIn},
			{title: "CLOCK SKEW", wide: true, right: true,
				cell: func(n listedNode) string { return render.SkewText(n.evidence.ClockSkew) }},
			{title: "AGENT", wide: true, cell: func(n listedNode) string {
				return cmp.Or(terminal.Clean(n.node.Agent.Version), "-")
			}},
			{
				title: "NOTE", shorten: terminal.Clip, optional: true,
				cell: func(n listedNode) string { return terminal.Clean(n.factor.Why) },
			},
		},
		orders: nodeOrders(), empty: "no nodes",
		resource: func(n listedNode) (namespace, name string) { return "", "node/" + n.node.Node },
		object:   func(n listedNode) any { return n.item() },
		whole: func(nodes []listedNode) any {
			items := []nodeItem{}
			for _, n := range nodes {
				items = append(items, n.item())
			}
			return struct {
				Items []nodeItem `json:"items"`
			}{items}
		},
		id: listedNode.name,
		state: func(n listedNode) string {
			phase := ""
			if len(n.node.Starting) > 0 {
				phase = string(n.node.Starting[0].Phase)
			}
			return strings.Join(
				[]string{factorState(n.factor.Factor), fmt.Sprint(n.starting()), phase, n.quality()},
				"|",
			)
		},
	}
}

func nodeOrders() []order[listedNode] {
	return []order[listedNode]{
		{"factor", bySize(func(n listedNode) float64 { return number(n.factor.Factor) })},
		{"starting", bySize(listedNode.starting)},
		{"duration", bySize(func(n listedNode) api.Seconds { return n.worstPhase().Oldest })},
		{"phase", byText(func(n listedNode) string { return string(n.worstPhase().Phase) })},
		{"cause", byText(listedNode.cause)},
		{"name", byText(listedNode.name)},
	}
}

func (n listedNode) name() string { return terminal.Clean(n.node.Node) }

func (n listedNode) starting() int { return n.node.Pods.States[timeline.StateStarting] }

// worstPhase compares the current phases of all starting pods and returns the longest phase. If no pod is starting,
// worstPhase returns the zero value.
func (n listedNode) worstPhase() api.StartingRecord {
	var worst api.StartingRecord
	for _, s := range n.node.Starting {
		if worst.Phase == "" || s.Oldest > worst.Oldest {
			worst = s
		}
	}
	return worst
}

func (n listedNode) worst() string {
	worst := n.worstPhase()
	if worst.Phase == "" {
		return "-"
	}
	return terminal.Clean(string(worst.Phase)) + " " + render.LengthText(worst.Oldest.Duration())
}

func (n listedNode) cause() string { return cmp.Or(terminal.Clean(string(n.worstPhase().Cause)), "-") }

// quality returns the names of the sources that are down. If all sources are up, quality returns the share of
// start-ups with missing evidence.
func (n listedNode) quality() string {
	if down := n.sourcesDown(); len(down) > 0 {
		return terminal.Clean(strings.Join(down, ", ")) + " down"
	}
	known, missing := n.evidence.StartUps.Known, n.evidence.StartUps.WithMissing
	switch {
	case known <= 0:
		return "no start-ups"
	case missing <= 0:
		return "complete"
	}
	return fmt.Sprintf("%.0f %% incomplete", max(1, 100*float64(missing)/float64(known)))
}

func (n listedNode) sourcesDown() []string {
	down := []string{}
	for _, part := range n.evidence.Parts {
		if !part.Up {
			down = append(down, part.Part)
		}
	}
	return down
}

func (n listedNode) lost() string {
	if n.factor.Factor == nil {
		return "-"
	}
	return render.SignedText(n.factor.Lost.Duration(), 3)
}

// maxLostIn is the maximum number of kinds of work in the column LOST IN. The column omits each kind of work whose lost
// time is less than leastLost.
const (
	maxLostIn = 2
	leastLost = 10 * time.Millisecond
)

// lostIn returns the text of the column LOST IN: the kinds of work with the most lost time, and the lost time of each
// kind per start-up.
func (n listedNode) lostIn() string {
	var works []string
	for _, w := range n.factor.LostIn {
		if w.Lost.Duration() >= leastLost && len(works) < maxLostIn {
			works = append(works, w.Work+" "+render.SecondsText(w.Lost.Duration()))
		}
	}
	return cmp.Or(strings.Join(works, ", "), "-")
}

func (n listedNode) item() nodeItem {
	item := nodeItem{
		Node: n.factor, Starting: n.starting(), Evidence: n.evidence.StartUps, SourcesDown: n.sourcesDown(),
		ClockSkew: n.evidence.ClockSkew, AgentVersion: n.node.Agent.Version,
	}
	if worst := n.worstPhase(); worst.Phase != "" {
		item.WorstPhase = &worst
	}
	return item
}

// A node whose factor is above slowNode is slow. A registry whose factor is above slowRegistry is slow. The alerts for
// slow nodes and registries use the same limits, but also have other conditions.
const (
	slowNode     = 2
	slowRegistry = 3
)

// factorText formats a factor with one decimal. For a factor between 0 and 0.995, the text has at most two
// significant digits.
func factorText(factor *float64) string {
	if factor == nil {
		return "-"
	}
	if *factor > 0 && *factor < 0.995 { // for example 0.05: a registry 20 times as fast as the others
		return strconv.FormatFloat(*factor, 'g', 2, 64)
	}
	return factorState(factor)
}

// factorState formats a factor with one decimal, as a part of a row's state. With -w, a command prints a row again if
// the row's state changes. Without the rounding, every small change of the factor would change the state.
func factorState(factor *float64) string {
	if factor == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *factor)
}

func factorStyle(factor *float64, slow float64) terminal.Style {
	if number(factor) > slow {
		return terminal.Vermillion
	}
	return ""
}

func number(factor *float64) float64 {
	if factor == nil {
		return 0
	}
	return *factor
}
