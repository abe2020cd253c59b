package scenario

import (
	"fmt"
	"math"
	"time"
)

// The size and the load of the cluster for which the scenario "fleet-cost" extrapolates its measurements.
const (
	largeFleet  = 5000 // number of nodes, each with one agent
	largeStarts = 100  // starts per second
)

// fleetSize contains the measurements of the scenario "fleet-cost" for one number of agents. The scenario repeats its
// measurements, with agents and without agents. Each list has one value for each repetition. The values in "idle" and
// "start" exclude the CPU time that the same nodes and pods need without agents. A bare watch is a pod watch without an
// agent.
type fleetSize struct {
	agents      int
	rollout     []time.Duration // CPU time of the API server and etcd to open all bare watches at once
	rolloutTook []time.Duration // time until all bare watches were open
	idle        []time.Duration // CPU time of the API server and etcd in one second without starts
	start       []time.Duration // CPU time of the API server and etcd for one start
	memory      []int64         // growth of the API server's resident memory, in bytes
	startBytes  []float64       // bytes that one agent's pod watch receives for one start
}

// regression is a straight line through measured points: value = base + slope*agents. The field "variance" is the
// variance of the points around the line.
type regression struct {
	base, slope      float64
	variance         float64
	points           int
	meanX, deviation float64 // mean of the numbers of agents, and sum of their squared deviations from the mean
}

// regress returns the line with the least squared error. The function needs at least three points, and these points
// must have at least two different numbers of agents.
func regress(x, y []float64) (r regression) {
	n := float64(len(x))
	r.points = len(x)
	var meanY float64
	for i := range x {
		r.meanX += x[i] / n
		meanY += y[i] / n
	}
	var products float64
	for i := range x {
		r.deviation += (x[i] - r.meanX) * (x[i] - r.meanX)
		products += (x[i] - r.meanX) * (y[i] - meanY)
	}
	r.slope = products / r.deviation
	r.base = meanY - r.slope*r.meanX
	for i := range x {
		residual := y[i] - r.base - r.slope*x[i]
		r.variance += residual * residual / (n - 2)
	}
	return r
}

// predict returns the value of the regression line for a number of agents, and an upper limit with 95 % confidence. The
// function assumes that the line is also correct beyond the measured points.
func (r regression) predict(agents float64) (value, atMost float64) {
	value = r.base + r.slope*agents
	distance := agents - r.meanX
	standardError := math.Sqrt(r.variance * (1/float64(r.points) + distance*distance/r.deviation))
	return value, value + student95(r.points-2)*standardError
}

// extrapolation returns one row of text for each measured quantity. A row contains the mean of the measured values for
// each number of agents, and the extrapolated value for the large cluster.
func extrapolation(sizes []fleetSize) []string {
	row := func(what, unit string, values func(fleetSize) []float64) string {
		var x, y []float64
		text := what
		for _, s := range sizes {
			var sum float64
			for _, v := range values(s) {
				x, y = append(x, float64(s.agents)), append(y, v)
				sum += v
			}
			text += fmt.Sprintf(" | %d agents: %.4g %s", s.agents, sum/float64(len(values(s))), unit)
		}
		value, atMost := regress(x, y).predict(largeFleet)
		return text + fmt.Sprintf(" | extrapolated to %d agents: %.4g %s, at most %.4g with 95 %% confidence",
			largeFleet, value, unit, atMost)
	}
	return []string{
		row("all agents start at once, CPU", "s", func(s fleetSize) []float64 { return scaled(s.rollout, 1e-9) }),
		row("all agents start at once, duration", "s", func(s fleetSize) []float64 {
			return scaled(s.rolloutTook, 1e-9)
		}),
		row("memory of the API server", "MiB", func(s fleetSize) []float64 { return scaled(s.memory, 1.0/(1<<20)) }),
		row("no pod starts, CPU", "% of a core", func(s fleetSize) []float64 { return scaled(s.idle, 100e-9) }),
		row(fmt.Sprintf("%d starts per second, CPU", largeStarts), "% of a core", func(s fleetSize) []float64 {
			return scaled(s.start, 100e-9*largeStarts)
		}),
		row(fmt.Sprintf("%d starts per second, received by all agents", largeStarts), "kB/s",
			func(s fleetSize) []float64 { return scaled(s.startBytes, largeStarts/1e3) }),
	}
}

func scaled[T ~int64 | ~float64](values []T, by float64) []float64 {
	result := make([]float64, len(values))
	for i, v := range values {
		result[i] = float64(v) * by
	}
	return result
}
