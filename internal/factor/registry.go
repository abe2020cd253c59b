package factor

import (
	"maps"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

const (
	// leastPulls is the minimum number of reference pulls. From the reference pulls, the package computes the expected
	// time of a registry's pulls. Reference pulls are pulls from other registries on the same node, or earlier pulls
	// from the same registry on all nodes. Only sized pulls count.
	leastPulls = 3
	// pullOverhead is the part of a pull's time that does not depend on the number of bytes, in seconds.
	pullOverhead = 0.5
	// From the total time of the reference pulls, the package subtracts pullOverhead for each pull. The rest is the
	// time that depends on the number of bytes. The package assumes that the rest is at least the share leastByBytes (0
	// to 1) of the total time.
	leastByBytes = 0.1
)

// registrySums contains the totals of the pulls from one registry on all nodes.
type registrySums struct {
	past      pullSums        // sized pulls in the day before the window
	pulls     api.PullTotals  // pulls in the window
	durations durationBuckets // durations of completed pulls in the window
	nodes     int             // number of nodes that used the registry in the window
}

func (r *registrySums) add(totals api.RegistryTotals) {
	r.nodes++
	r.pulls.Add(totals.PullTotals)
	for _, bucket := range totals.Durations {
		r.durations.merge(bucket)
	}
}

// Registry contains the registry factor of one registry, and the data behind this factor. The command "registries"
// prints a Registry as JSON.
type Registry struct {
	Registry string `json:"registry"`
	// Factor is the time of the registry's sized pulls, divided by the expected time for the same number of bytes. If
	// no comparison is possible, Factor is nil and Why contains the reason.
	Factor *float64 `json:"factor,omitempty"`
	Why    string   `json:"factor_note,omitempty"`
	// Lost is the observed time of the compared pulls, minus their expected time. Lost is 0 if Factor is nil.
	Lost  time.Duration `json:"-"`
	Nodes int           `json:"nodes"` // number of nodes with at least one pull: completed, failed or in progress
	// Pulls is the number of pulls in the window that downloaded content and have a known duration.
	Pulls      int   `json:"pulls"`
	Failures   int   `json:"failures"`
	InProgress int   `json:"in_progress"`
	Bytes      int64 `json:"bytes"`
	// P50 and P90 are quantiles of the pulls' durations (see durations.quantile). Without pulls, P50 and P90 are 0.
	P50 api.Seconds `json:"p50_seconds"`
	P90 api.Seconds `json:"p90_seconds"`
}

// NeedsPast reports whether the comparison of at least one registry requires pulls from before the window. If a node
// has too few pulls from other registries in the window, the comparison requires the registry's own earlier pulls. If
// NeedsPast returns true, the caller must call AddPast for each node.
func (f *Fleet) NeedsPast() bool {
	for _, n := range f.nodes {
		all := n.allPulls()
		for _, p := range n.pulls {
			if p.bytes > 0 && all.pulls-p.pulls < leastPulls {
				return true
			}
		}
	}
	return false
}

func (n *nodeSums) allPulls() pullSums {
	var all pullSums
	for _, registry := range slices.Sorted(maps.Keys(n.pulls)) { // fixed order for floating-point sums
		all.add(*n.pulls[registry])
	}
	return all
}

// Registries returns the results of all registries, sorted by the registries' names.
func (f *Fleet) Registries() []Registry {
	observed, expected := map[string]float64{}, map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		n := f.nodes[name]
		for registry, p := range n.pulls {
			o, e := f.compare(n, registry, *p)
			observed[registry] += o
			expected[registry] += e
		}
	}
	var results []Registry
	for _, name := range slices.Sorted(maps.Keys(f.registries)) {
		r := f.registries[name]
		if r.nodes == 0 {
			continue // the registry has pulls only before the window
		}
		result := Registry{
			Registry: name, Nodes: r.nodes, Pulls: r.pulls.Pulls, Failures: r.pulls.Failures,
			InProgress: r.pulls.InProgress, Bytes: r.pulls.Bytes, P50: api.Seconds(r.durations.quantile(0.5)),
			P90: api.Seconds(r.durations.quantile(0.9)),
		}
		switch {
		case name == api.OtherRegistries:
			result.Why = "several registries with few pulls"
		case expected[name] > 0:
			result.Factor = new(observed[name] / expected[name])
			result.Lost = fromSeconds(observed[name] - expected[name])
		case result.Pulls == 0:
			result.Why = "no measured download in " + f.period
		case r.pulls.Sized.Pulls == 0:
			result.Why = "the bytes of all pulls are unknown or incomplete"
		default:
			result.Why = "too few other pulls with known bytes to compare with"
		}
		results = append(results, result)
	}
	return results
}

// compare returns the observed and the expected seconds of a registry's pulls on a node. If no comparison is
// possible, compare returns zeros.
func (f *Fleet) compare(n *nodeSums, registry string, p pullSums) (observed, expected float64) {
	all := n.allPulls()
	reference, observed := all.minus(p), p.seconds
	if reference.pulls < leastPulls {
		// The reference pulls are now the registry's past pulls on all nodes. If this node has a slow disk, its slow
		// unpacking could make the registry look slow. So compare subtracts the unpacking time of this node from the
		// observed time, even if the unpacking overlapped with the download.
		reference = f.registries[registry].past
		observed = max(p.seconds-n.work(workUnpack).seconds, 0)
	}
	if reference.pulls < leastPulls || reference.bytes <= 0 || p.bytes <= 0 {
		return 0, 0
	}
	byBytes := max(reference.seconds-pullOverhead*reference.pulls, leastByBytes*reference.seconds)
	expected = p.bytes*byBytes/reference.bytes + pullOverhead*p.pulls
	if expected <= 0 {
		return 0, 0
	}
	return observed, expected
}
