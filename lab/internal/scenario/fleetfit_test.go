package scenario

import (
	"strings"
	"testing"
	"time"
)

func TestExtrapolation(t *testing.T) {
	var sizes []fleetSize
	for _, nodes := range []int{100, 200, 400} {
		sizes = append(sizes, fleetSize{nodes: nodes, rollout: time.Duration(nodes) * 10 * time.Millisecond,
			rolloutTook: time.Second, idle: time.Duration(nodes) * time.Microsecond, start: 2 * time.Millisecond,
			memory: int64(nodes) << 20, startBytes: 500})
	}
	got := strings.Join(extrapolation(sizes), "\n")
	for _, want := range []string{
		"CPU | 100 nodes: 1 s | 200 nodes: 2 s | 400 nodes: 4 s | extrapolated to 5000 nodes: 50 s",
		"duration | 100 nodes: 1 s | 200 nodes: 1 s | 400 nodes: 1 s | extrapolated to 5000 nodes: 1 s",
		"extrapolated to 5000 nodes: 5000 MiB",
		"no pod starts, CPU | 100 nodes: 0.01 % of a core",
		"100 starts per second, CPU | 100 nodes: 20 % of a core",
		"extrapolated to 5000 nodes: 50 kB/s",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in\n%s", want, got)
		}
	}
}
