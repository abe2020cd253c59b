package factor_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/factor"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestQuantilesOfManyNodes compares the merged quantiles with the exact quantiles of all nodes' durations.
func TestQuantilesOfManyNodes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	all := nodes{}
	var lengths []int
	for n := range 20 {
		node := fmt.Sprint("node-", n)
		for i := range 25 {
			length := 1 + int(200_000*random.Float64()*random.Float64())
			lengths = append(lengths, length)
			all[node] = append(all[node], startUp(fmt.Sprint(node, i), time.Minute, normal(),
				download("r.example", length, 0, 10)))
		}
	}
	slices.Sort(lengths)
	got := fleetOf(all).Registries()[0]
	for share, found := range map[float64]time.Duration{0.5: got.P50.Duration(), 0.9: got.P90.Duration()} {
		want := time.Duration(lengths[int(share*float64(len(lengths)))-1]) * time.Millisecond
		if deviation := float64(found-want) / float64(want); deviation < -0.1 || deviation > 0.1 {
			t.Errorf("the quantile %v is %v, want %v within 10 %%", share, found, want)
		}
	}
	if got.Pulls != 500 || got.Nodes != 20 {
		t.Errorf("%+v", got)
	}
}

func TestTotalsOfWindow(t *testing.T) {
	at := func(name string, ago time.Duration) api.Record {
		return api.NewRecord(startUp(name, ago, normal(), download("r.example", 1000, 0, 1)))
	}
	starting := at("starting", 0)
	starting.State, starting.SettledAt = timeline.StateStarting, api.Instant{}
	starting.Pulls[0].Outcome = "pulling"
	rebuilt := at("rebuilt", time.Minute)
	rebuilt.Reconstructed = true
	records := []api.Record{at("now", time.Minute), at("edge", time.Hour), at("before", 2*time.Hour), starting, rebuilt}
	for name, test := range map[string]struct {
		window                  factor.TimeWindow
		ended, pulls, inProcess int
	}{
		"all":      {factor.TimeWindow{}, 3, 3, 1},
		"the hour": {factor.TimeWindow{Since: now.Add(-time.Hour)}, 2, 2, 1},
		"before":   {factor.TimeWindow{Since: now.Add(-9 * time.Hour), Until: now.Add(-time.Hour)}, 1, 1, 0},
		"nothing":  {factor.TimeWindow{Since: now, Until: now}, 0, 0, 0},
	} {
		totals := factor.NewTotals("a", test.window)
		for _, r := range records {
			totals.Add(r)
		}
		got := totals.Record()
		pulls, inProcess := 0, 0
		for _, r := range got.Registries {
			pulls, inProcess = pulls+r.Pulls, inProcess+r.InProgress
		}
		if got.Ended != test.ended || got.Started != test.ended || pulls != test.pulls || inProcess != test.inProcess {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestRegistriesAreBounded adds more registries than the limit. The totals must still contain every pull.
func TestRegistriesAreBounded(t *testing.T) {
	const registries = 3 * api.MaxRegistryTotals
	var startUps []timeline.Timeline
	for i := range registries {
		name := fmt.Sprintf("r%03d.example", i)
		startUps = append(startUps, startUp(name, time.Minute, normal(), download(name, 1000, 0, 1)))
	}
	busy := fmt.Sprintf("r%03d.example", registries-1)
	startUps = append(startUps, startUp("again", time.Minute, normal(), download(busy, 3000, 0, 1)))
	recent, _ := totalsOf("a", startUps)
	if len(recent.Registries) != api.MaxRegistryTotals+1 {
		t.Fatalf("%d registries", len(recent.Registries))
	}
	pulls, ownTotals, other := 0, false, api.RegistryTotals{}
	for _, r := range recent.Registries {
		pulls += r.Pulls
		ownTotals = ownTotals || r.Registry == busy && r.Pulls == 2
		if r.Registry == api.OtherRegistries {
			other = r
		}
	}
	if pulls != registries+1 || !ownTotals || other.Pulls != registries-api.MaxRegistryTotals ||
		len(other.Durations) != 1 || other.Durations[0].Pulls != other.Pulls {
		t.Errorf("%d pulls, own totals of the busiest registry %t, other %+v", pulls, ownTotals, other)
	}
	fleet := factor.NewFleet()
	fleet.Add("a", recent)
	for _, r := range fleet.Registries() {
		if r.Registry == api.OtherRegistries && (r.Factor != nil || r.Why == "") {
			t.Errorf("several registries have one factor: %+v", r)
		}
	}
}

// TestHugeTimes uses agents that send sums near the largest possible duration. The lost time must not overflow.
func TestHugeTimes(t *testing.T) {
	const longest = 9_000_000_000 * time.Second
	fleet := factor.NewFleet()
	for node, length := range map[string]time.Duration{"a": longest, "b": time.Second} {
		totals := api.TotalsRecord{Ended: 1, Started: 1}
		for _, phase := range []timeline.Phase{timeline.PhaseKubeletSync, timeline.PhaseContainerCreate,
			timeline.PhaseContainerStart} {
			totals.Phases = append(totals.Phases, api.PhaseTotals{Phase: phase, Length: api.Seconds(length), Steps: 10})
		}
		for registry, length := range map[string]time.Duration{"fast": time.Second, "slow": longest} {
			totals.Registries = append(totals.Registries, api.RegistryTotals{Registry: registry,
				PullTotals: api.PullTotals{Sized: api.SizedTotals{Pulls: 10, Length: api.Seconds(length), Bytes: 1}}})
		}
		fleet.Add(node, totals)
	}
	nodes, registries := fleet.Nodes(), fleet.Registries()
	if nodes[0].Lost.Duration() != longest || nodes[0].LostIn[0].Lost.Duration() != longest ||
		nodes[1].Lost.Duration() != -longest {
		t.Errorf("%+v", nodes)
	}
	if registries[1].Lost != longest {
		t.Errorf("%+v", registries)
	}
}
