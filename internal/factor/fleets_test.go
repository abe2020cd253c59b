package factor_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// fleets returns the situations in which the rules and this package must agree.
func fleets() map[string]nodes {
	const recent, earlier = 20 * time.Minute, 110 * time.Minute
	two := func(i int, slowDown int) []timeline.Pull {
		return []timeline.Pull{download("big.example", 4000*slowDown, 600, 40+i),
			download("small.example", 700*slowDown, 100, 2)}
	}
	all := map[string]nodes{
		"a slow node": {
			"a": times(
				6,
				func(i int) timeline.Timeline { return startUp(fmt.Sprint("a", i), recent, slow(), two(i, 1)...) },
			),
			"b": times(
				7,
				func(i int) timeline.Timeline { return startUp(fmt.Sprint("b", i), recent, normal(), two(i, 1)...) },
			),
			"c": times(3, func(i int) timeline.Timeline { return startUp(fmt.Sprint("c", i), recent, normal()) }),
		},
		"too little work elsewhere": {
			"a": times(6, func(i int) timeline.Timeline { return startUp(fmt.Sprint("a", i), recent, normal()) }),
			"b": times(2, func(i int) timeline.Timeline { return startUp(fmt.Sprint("b", i), recent, slow()) }),
			"c": nil,
		},
		"a single node": {
			"a": times(
				6,
				func(i int) timeline.Timeline { return startUp(fmt.Sprint("a", i), recent, slow(), two(i, 1)...) },
			),
		},
		"a runtime with one timestamp": {
			"a": times(6, func(i int) timeline.Timeline {
				return merged(fmt.Sprint("a", i), recent, "network_ready", "sandbox_begun")
			}),
			"b": times(6, func(i int) timeline.Timeline { return startUp(fmt.Sprint("b", i), recent, normal()) }),
		},
		"a runtime that does not respond": {
			"a": times(6, func(i int) timeline.Timeline { return merged(fmt.Sprint("a", i), recent) }),
			"b": times(6, func(i int) timeline.Timeline { return startUp(fmt.Sprint("b", i), recent, normal()) }),
		},
		"a runtime after an upgrade": {
			"a": append(
				times(9, func(i int) timeline.Timeline { return startUp(fmt.Sprint("a", i), recent, normal()) }),
				merged("old0", recent, "network_ready"), merged("old1", recent, "network_ready")),
			"b": times(6, func(i int) timeline.Timeline { return startUp(fmt.Sprint("b", i), recent, normal()) }),
		},
		"a slow registry": {
			"a": times(5, func(i int) timeline.Timeline {
				return startUp(fmt.Sprint("a", i), recent, normal(),
					append(two(i, 1), download("slow.example", 30000, 500, 30))...)
			}),
			"b": times(
				4,
				func(i int) timeline.Timeline { return startUp(fmt.Sprint("b", i), recent, normal(), two(i, 2)...) },
			),
		},
		"a registry slower than the day before": {
			"a": slices.Concat(
				times(4, func(i int) timeline.Timeline {
					return startUp(fmt.Sprint("p", i), earlier, normal(), download("only.example", 2000, 400, 20))
				}),
				times(5, func(i int) timeline.Timeline {
					return startUp(fmt.Sprint("a", i), recent, normal(), download("only.example", 9000, 500, 21))
				})),
			"b": times(2, func(i int) timeline.Timeline {
				return startUp(fmt.Sprint("b", i), recent, normal(), download("only.example", 3000, 400, 10))
			}),
		},
	}
	maps.Copy(all, unsizedFleets())
	return all
}
