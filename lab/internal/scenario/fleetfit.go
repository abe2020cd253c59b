package scenario

import (
	"fmt"
	"time"
)

// The size and the load of the cluster for which the scenario fleet-cost extrapolates its measurements.
const (
	largeNodes  = 5000
	largeStarts = 100 // starts per second
)

// fleetSize is the result of the scenario fleet-cost for one number of nodes. All costs are the costs of the agents
// alone.
type fleetSize struct {
	nodes, pods int
	rollout     time.Duration // CPU time of the API server and etcd while all bare watches open at once
	rolloutTook time.Duration // time until all bare watches were open
	idle        time.Duration // CPU time of the API server and etcd in one second without starts
	start       time.Duration // CPU time of the API server and etcd for one start
	memory      int64         // growth of the API server's resident memory, in bytes
	startBytes  float64       // bytes that an agent's pod watch receives for one start
}

// line is a straight line through measured points: value = base + slope*nodes.
type line struct{ base, slope float64 }

// fit returns the line with the least squared error.
func fit(sizes []fleetSize, value func(fleetSize) float64) line {
	n := float64(len(sizes))
	var x, y, xx, xy float64
	for _, s := range sizes {
		v := value(s)
		x, y, xx, xy = x+float64(s.nodes), y+v, xx+float64(s.nodes)*float64(s.nodes), xy+float64(s.nodes)*v
	}
	slope := (n*xy - x*y) / (n*xx - x*x)
	return line{(y - slope*x) / n, slope}
}

// The method at returns the line's value for a number of nodes.
func (l line) at(nodes int) float64 { return l.base + l.slope*float64(nodes) }

// extrapolation lists the measured values of each size, and the values of the fitted lines for the large cluster.
func extrapolation(sizes []fleetSize) []string {
	row := func(what, unit string, value func(fleetSize) float64) string {
		text := what
		for _, s := range sizes {
			text += fmt.Sprintf(" | %d nodes: %.4g %s", s.nodes, value(s), unit)
		}
		return text + fmt.Sprintf(" | extrapolated to %d nodes: %.4g %s", largeNodes, fit(sizes, value).at(largeNodes),
			unit)
	}
	return []string{
		row("all agents start at once, CPU", "s", func(s fleetSize) float64 { return s.rollout.Seconds() }),
		row("all agents start at once, duration", "s", func(s fleetSize) float64 { return s.rolloutTook.Seconds() }),
		row("memory of the API server", "MiB", func(s fleetSize) float64 { return float64(s.memory) / (1 << 20) }),
		row("no pod starts, CPU", "% of a core", func(s fleetSize) float64 { return 100 * s.idle.Seconds() }),
		row(fmt.Sprintf("%d starts per second, CPU", largeStarts), "% of a core", func(s fleetSize) float64 {
			return 100 * largeStarts * s.start.Seconds()
		}),
		row(fmt.Sprintf("%d starts per second, received by all agents", largeStarts), "kB/s",
			func(s fleetSize) float64 { return largeStarts * s.startBytes / 1000 }),
	}
}
