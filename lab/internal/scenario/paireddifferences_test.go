package scenario

import (
	"strings"
	"testing"
	"time"
)

func TestPaired(t *testing.T) {
	// The mean of 1, 2 and 6 is 3. The squares of the differences, 4, 1 and 9, add up to 14. √(14/2/3) is 1.5275.
	p := pair([]time.Duration{time.Second, 2 * time.Second, 6 * time.Second})
	if p.mean != 3*time.Second || p.standardError.Round(time.Millisecond) != 1528*time.Millisecond {
		t.Errorf("got %+v", p)
	}
	if got := p.atMost().Round(time.Millisecond); got != 7460*time.Millisecond { // 3 + 2.920 · 1.5275
		t.Errorf("at most %v", got)
	}
	if even := pair([]time.Duration{-time.Second, -time.Second}); even.atMost() != -time.Second {
		t.Errorf("got %+v", even)
	}
}

func TestCostKinds(t *testing.T) {
	for form, want := range map[string]int{"": 14, "whole": 14, "quick": 2, "floor": 3} {
		if kinds, err := costKinds(form); err != nil || len(kinds) != want {
			t.Errorf("%q: %d loads, %v; want %d", form, len(kinds), err, want)
		}
	}
	for _, invalid := range []string{"long", "3,3"} {
		if _, err := costKinds(invalid); err == nil || !strings.Contains(err.Error(), costVariable) {
			t.Errorf("%q: error %v", invalid, err)
		}
	}
}

func TestJudgeFloor(t *testing.T) {
	for name, test := range map[string]struct {
		selector    string
		delivered   int64
		differences []time.Duration
		problems    int
	}{
		"cost":                  {agentsEvents, 1, []time.Duration{90, 100, 110}, 0},
		"cost without Events":   {noEvent, 0, []time.Duration{90, 100, 110}, 0},
		"cost, not certain":     {agentsEvents, 1, []time.Duration{-400, 100, 600}, 1},
		"no cost":               {agentsEvents, 1, []time.Duration{-10, 0, 10}, 1},
		"nothing was delivered": {agentsEvents, 0, []time.Duration{90, 100, 110}, 1},
		"Events were delivered": {noEvent, 1, []time.Duration{90, 100, 110}, 1},
	} {
		var v Verdict
		judgeFloor(&v, costKind{selector: test.selector}, pair(test.differences), test.delivered)
		if len(v.Problems) != test.problems || v.Compared != 2 {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// A costKind without cold images has a target of 0.2 ms.
func TestJudgeCost(t *testing.T) {
	for name, test := range map[string]struct {
		quick       bool
		differences []time.Duration
		problems    int
	}{
		"below the target":               {false, []time.Duration{90, 100, 110}, 0},
		"below the target, inconclusive": {false, []time.Duration{-400, 100, 600}, 1},
		"above the target":               {false, []time.Duration{290, 300, 310}, 1},
		"quick, inconclusive":            {true, []time.Duration{-400, 300, 1000}, 0},
		"quick, above the target":        {true, []time.Duration{290, 300, 310}, 1},
	} {
		var v Verdict
		for i := range test.differences {
			test.differences[i] *= time.Microsecond
		}
		judgeCost(&v, costKind{quick: test.quick}, pair(test.differences))
		if len(v.Problems) != test.problems || v.Compared != 1 {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
