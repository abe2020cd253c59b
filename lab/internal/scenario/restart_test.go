package scenario

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
)

func TestKillPlan(t *testing.T) {
	draw := func(seed uint64) []kill { return killPlan(rand.New(rand.NewPCG(seed, 0)), 50) }
	for seed := range uint64(100) {
		kills := draw(seed)
		if total := totalKillTime(kills); len(kills) != 50 || total < time.Minute ||
			total > 2*time.Minute+20*time.Second {
			t.Errorf("seed %d: %d kills take %s", seed, len(kills), total)
		}
	}
	if a, b := draw(7), draw(7); a[0] != b[0] || a[49] != b[49] {
		t.Error("the same seed draws other times")
	}
}

func TestRestartVerdict(t *testing.T) {
	record := func(id, name, state string) agent.Timeline {
		return agent.Timeline{ID: id, Name: name, State: state, CreatedAt: start(), SettledAt: after(time.Second),
			TotalSeconds: "1", TotalError: "0", Phases: []agent.Phase{reported("pull", 0, time.Second, 0)}}
	}
	plans := []plan{{name: "a"}, {name: "b", runFor: 1}}
	truths := []knownStartUp{
		{pod: "a", lengths: []knownLength{{phase: "pull", truth: span(0, time.Second)}}},
		{pod: "b", lengths: []knownLength{{phase: "pull", truth: span(0, time.Second)}}},
	}
	a, b := record("1/0", "a", agent.Ready), record("2/0", "b", agent.Succeeded)
	for name, test := range map[string]struct {
		records []agent.Timeline
		want    string // part of the expected output; empty if the verdict passes
	}{
		"correct":               {[]agent.Timeline{a, b}, ""},
		"repeated":              {[]agent.Timeline{a, b, a, b}, ""},
		"lost":                  {[]agent.Timeline{a}, "pod b was never reported"},
		"twice":                 {[]agent.Timeline{a, b, record("1/1", "a", agent.Ready)}, "reported with two IDs"},
		"without an ID":         {[]agent.Timeline{record("", "a", agent.Ready), b}, "no ID"},
		"other state":           {[]agent.Timeline{record("1/0", "a", agent.Succeeded), b}, "reports succeeded"},
		"ready, then completed": {[]agent.Timeline{a, record("2/0", "b", agent.Ready)}, ""},
		"unknown pod":           {[]agent.Timeline{a, b, record("3/0", "c", agent.Ready)}, "does not exist"},
		"longer pull":           {[]agent.Timeline{a, longPull(b)}, "not within the error bound"},
	} {
		v := &Verdict{}
		judgeRestarts(tally{}, plans, truths, agent.Records{Timelines: test.records}, v)
		var out strings.Builder
		v.Print(&out)
		if v.Failed() != (test.want != "") || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: failed %v\n%s", name, v.Failed(), out.String())
		}
	}
}

func longPull(timeline agent.Timeline) agent.Timeline {
	timeline.SettledAt, timeline.TotalSeconds = after(2*time.Second), "2"
	timeline.Phases = []agent.Phase{reported("pull", 0, 2*time.Second, 0)}
	return timeline
}
