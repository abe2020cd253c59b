package factor_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// unsizedFleets returns the situations in which some pulls are not sized, or have no time of unpacking.
func unsizedFleets() map[string]nodes {
	const recent = 20 * time.Minute
	return map[string]nodes{
		"two equal registries, one with bytes for half of its pulls": {
			"a": times(8, func(i int) timeline.Timeline {
				half := download("half.example", 20000, 1000, 200)
				if i%2 == 0 {
					half = undated(half)
				}
				return startUp(fmt.Sprint("a", i), recent, normal(), download("hub.example", 20000, 1000, 200), half)
			}),
		},
		"a slow registry, and another registry with bytes for a quarter of its pulls": {
			"a": times(16, func(i int) timeline.Timeline {
				hub := download("hub.example", 2000, 100, 20)
				if i%4 != 0 {
					hub = undated(hub)
				}
				return startUp(fmt.Sprint("a", i), recent, normal(), download("slow.example", 10000, 100, 20), hub)
			}),
		},
		"a runtime that does not report unpacking": {
			"a": times(8, func(i int) timeline.Timeline {
				pull := download("hub.example", 20000, 1000, 200)
				pull.Layers[0].UnpackedAt = time.Time{}
				return startUp(fmt.Sprint("a", i), recent, normal(), pull)
			}),
			"b": times(8, func(i int) timeline.Timeline {
				return startUp(fmt.Sprint("b", i), recent, normal(), download("hub.example", 20000, 1000, 200))
			}),
			"c": times(8, func(i int) timeline.Timeline {
				return startUp(fmt.Sprint("c", i), recent, normal(), download("hub.example", 20000, 1000, 200))
			}),
		},
		"no pull has bytes": {
			"a": times(8, func(i int) timeline.Timeline {
				return startUp(fmt.Sprint("a", i), recent, normal(), undated(download("slow.example", 90000, 100, 20)),
					undated(download("hub.example", 2000, 100, 20)))
			}),
		},
	}
}

// TestUnpackingWithoutTimesBlamesNoNode checks equal nodes. The runtime of one node does not report when it unpacked
// layers.
func TestUnpackingWithoutTimesBlamesNoNode(t *testing.T) {
	for _, n := range fleetOf(fleets()["a runtime that does not report unpacking"]).Nodes() {
		if n.Factor == nil {
			t.Errorf("node %s has no factor: %s", n.Node, n.Why)
		} else if math.Abs(*n.Factor-1) > 1e-9 {
			t.Errorf("node %s: factor %v, want 1", n.Node, *n.Factor)
		}
	}
}

// TestRegistryFactorsUseOnlySizedPulls compares the factors with values computed by hand. A pull of 200 MiB takes 20 s
// from two registries. Half of the pulls from one of them have no bytes.
func TestRegistryFactorsUseOnlySizedPulls(t *testing.T) {
	equal := fleetOf(fleets()["two equal registries, one with bytes for half of its pulls"]).Registries()
	for _, r := range equal {
		if r.Factor == nil {
			t.Errorf("%s has no factor: %s", r.Registry, r.Why)
		} else if math.Abs(*r.Factor-1) > 1e-9 || r.Pulls != 8 {
			t.Errorf("%s: factor %v of %d pulls, want 1 of 8", r.Registry, *r.Factor, r.Pulls)
		}
	}
	slow := fleetOf(fleets()["a slow registry, and another registry with bytes for a quarter of its pulls"])
	if r := slow.Registries()[1]; r.Registry != "slow.example" || r.Factor == nil || math.Abs(*r.Factor-5) > 1e-9 {
		t.Errorf("%+v, want the factor 5", r)
	}
	for _, r := range fleetOf(fleets()["no pull has bytes"]).Registries() {
		if r.Factor != nil || r.Pulls != 8 || r.Why != "the bytes of all pulls are unknown or incomplete" {
			t.Errorf("%+v, want no factor", r)
		}
	}
}
