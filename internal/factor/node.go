package factor

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// If all other nodes together did fewer than leastUnits units of one kind of work, the node factor excludes this
	// kind. For example, one started container is one unit.
	leastUnits = 5
	// unpackUnit is the number of downloaded bytes that count as one unit of unpacking.
	unpackUnit = 20 << 20
	// maxUnreported is the maximum average number of unreported milestones per start-up. An unreported milestone is a
	// milestone that the container runtime can never report. If a node exceeds this maximum, the node has no factor,
	// because the unreported milestones would hide a slow network.
	maxUnreported = 0.5
)

// Kinds of work of a node. The first four kinds have the same names as their phases.
const (
	workPickup     = string(timeline.PhaseKubeletPickup)
	workVolumes    = string(timeline.PhaseVolumes)
	workNetwork    = string(timeline.PhaseNetwork)
	workSandbox    = string(timeline.PhaseSandbox)
	workContainers = "containers"
	workUnpack     = "unpack"
)

// workOf returns the kind of work of a phase, or "" if the phase is not work of the node.
func workOf(phase timeline.Phase) string {
	switch phase {
	case timeline.PhaseKubeletPickup, timeline.PhaseVolumes, timeline.PhaseNetwork, timeline.PhaseSandbox:
		return string(phase)
	case timeline.PhaseSandboxLost:
		return ""
	}
	if cause := timeline.CauseOf(phase); cause == timeline.CauseKubelet || cause == timeline.CauseRuntime {
		return workContainers
	}
	return ""
}

func (n *nodeSums) work(name string) *workSums {
	w := n.works[name]
	if w == nil {
		w = &workSums{}
		n.works[name] = w
	}
	return w
}

func (n *nodeSums) addPhase(phase api.PhaseTotals) {
	name := workOf(phase.Phase)
	if name == "" {
		return
	}
	work := n.work(name)
	work.seconds += phase.Length.Duration().Seconds()
	if name != workContainers || phase.Phase == timeline.PhaseContainerStart {
		work.units += float64(phase.Steps)
	}
}

// Node contains the node factor of one node, and the data behind this factor. The command "nodes" prints a Node as a
// part of its JSON.
type Node struct {
	Node string `json:"node"`
	// Factor is the time that the node needed for its work, divided by the time that the other nodes need for the same
	// work. If no comparison is possible, Factor is nil and Why contains the reason.
	Factor   *float64    `json:"factor,omitempty"`
	Why      string      `json:"factor_note,omitempty"`
	StartUps int         `json:"start_ups"`    // start-ups that became ready or succeeded in the window
	Lost     api.Seconds `json:"lost_seconds"` // observed time minus expected time, per start-up
	// LostIn contains the part of Lost for each kind of work. The kind with the most lost time is first. A negative
	// value means that the node is faster than the other nodes. LostIn is empty if Factor is nil or StartUps is 0.
	LostIn []LostWork `json:"lost_by_work,omitempty"`
	// Merged contains kinds of work that the node's evidence never separated from other work, for example the work on
	// volumes and on the network. Factor excludes these kinds of work, because the time of each kind is unknown.
	Merged []string `json:"-"`
}

// LostWork contains the lost time of one kind of work.
type LostWork struct {
	Work string      `json:"work"`         // a kind of work, for example "network"
	Lost api.Seconds `json:"lost_seconds"` // observed time minus expected time, per start-up of the node
}

// Nodes returns the results of all nodes, sorted by the nodes' names.
func (f *Fleet) Nodes() []Node {
	total := map[string]workSums{}
	for _, node := range slices.Sorted(maps.Keys(f.nodes)) { // fixed order for floating-point sums
		for name, w := range f.nodes[node].works {
			sum := total[name]
			sum.seconds += w.seconds
			sum.units += w.units
			total[name] = sum
		}
	}
	var nodes []Node
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		nodes = append(nodes, f.nodeResult(name, total))
	}
	return nodes
}

func (f *Fleet) nodeResult(name string, total map[string]workSums) Node {
	n := f.nodes[name]
	result := Node{Node: name, StartUps: n.startUps}
	if float64(n.unreported) > maxUnreported*float64(n.ended) {
		result.Why = "this container runtime cannot report when the network of a pod was ready or when a sandbox " +
			"was running"
		return result
	}
	result.Merged = n.neverSeparated()
	observed, expected, worked := 0.0, 0.0, false
	var lostIn []LostWork
	for _, work := range slices.Sorted(maps.Keys(n.works)) {
		w := n.works[work]
		others := workSums{total[work].seconds - w.seconds, total[work].units - w.units}
		worked = worked || w.units > 0
		if w.units <= 0 || others.units < leastUnits {
			continue
		}
		should := w.units * others.seconds / others.units
		observed += w.seconds
		expected += should
		if n.startUps > 0 {
			lostIn = append(lostIn, LostWork{work, n.perStartUp(w.seconds - should)})
		}
	}
	switch {
	case expected > 0:
		result.Factor = new(observed / expected)
		if n.startUps > 0 {
			result.Lost = n.perStartUp(observed - expected)
		}
		slices.SortStableFunc(lostIn, func(x, y LostWork) int { return cmp.Compare(y.Lost, x.Lost) })
		result.LostIn = lostIn
	case len(f.nodes) < 2:
		result.Why = "only one agent responded, so there is no other node to compare with"
	case !worked && len(result.Merged) > 0:
	case !worked:
		result.Why = "no start-up ended in " + f.period
	default:
		result.Why = "the other nodes did too little of the same work in " + f.period
	}
	if len(result.Merged) > 0 {
		text := "the evidence does not separate " + strings.Join(result.Merged, ", ")
		if result.Why != "" {
			text = result.Why + "; " + text
		}
		result.Why = text
	}
	return result
}

// perStartUp divides seconds by the number of the node's start-ups.
func (n *nodeSums) perStartUp(seconds float64) api.Seconds {
	return api.Seconds(fromSeconds(seconds / float64(n.startUps)))
}

// maxSeconds is the longest time in a result, in seconds. The type time.Duration can hold only slightly more.
const maxSeconds = 9e9

func fromSeconds(s float64) time.Duration {
	return time.Duration(min(max(s, -maxSeconds), maxSeconds) * float64(time.Second))
}

// neverSeparated returns the kinds of work that the node did, but whose time the evidence never shows separately.
func (n *nodeSums) neverSeparated() []string {
	var works []string
	for _, work := range []string{workPickup, workVolumes, workNetwork, workSandbox, workContainers} {
		if n.merged[work] && (n.works[work] == nil || n.works[work].units == 0) {
			works = append(works, work)
		}
	}
	return works
}
