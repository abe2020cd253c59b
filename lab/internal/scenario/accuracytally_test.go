package scenario

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/workload"
)

// after adds a duration to the instant that the function "start" returns.
func after(d time.Duration) time.Time { return start().Add(d) }

func span(from, to time.Duration) bench.Span {
	return bench.Span{StartAt: after(from), EndAt: after(to)}
}

// reported returns a phase of an agent's timeline.
func reported(phase string, from, to, stated time.Duration) agent.Phase {
	return agent.Phase{Phase: phase, StartAt: after(from), EndAt: after(to), Seconds: decimal(to - from),
		Error: decimal(stated)}
}

func TestReading(t *testing.T) {
	const ms = time.Millisecond
	merged := reported(agent.Unattributed, 0, 3*time.Second, 0)
	merged.MergedWith = []string{"volumes", "network"}
	elsewhere := reported(agent.Unattributed, 5*time.Second, 6*time.Second, 0)
	elsewhere.MergedWith = merged.MergedWith
	for name, test := range map[string]struct {
		phase        agent.Phase
		within, kept bool
		merged       bool
		waited       time.Duration
	}{
		"exact":                      {reported("network", 0, 2*time.Second, 0), true, true, false, 0},
		"50 ms too long":             {reported("network", 0, 2050*ms, 0), true, true, false, 0},
		"51 ms too long":             {reported("network", 0, 2051*ms, 0), false, false, false, 0},
		"51 ms too short":            {reported("network", 0, 1949*ms, 0), false, false, false, 0},
		"within a large error bound": {reported("network", 0, 2900*ms, 850*ms), false, true, false, 0},
		"beyond a large error bound": {reported("network", 0, 2900*ms, 849*ms), false, false, false, 0},
		"not reported":               {reported("volumes", 0, 2*time.Second, 0), false, false, false, 0},
		"merged":                     {merged, false, false, true, 0},
		"merged at another time":     {elsewhere, false, false, false, 0},
		"merged under another name": {agent.Phase{Phase: "volumes", MergedWith: []string{"network"}},
			false, false, false, 0},
		"70 ms too long, while tasks waited 20": {reported("network", 0, 2070*ms, 20*ms), true, true, false, 20 * ms},
		"71 ms too long, while tasks waited 20": {reported("network", 0, 2071*ms, 20*ms), false, false, false,
			20 * ms},
	} {
		r := reading{phase: "network", happened: span(0, 2*time.Second), waited: test.waited}
		if err := r.read(agent.Timeline{Phases: []agent.Phase{test.phase}}); err != nil {
			t.Fatal(err)
		}
		if r.isAccurate() != test.within || r.holdsTruth() != test.kept || (r.mergedIn != "") != test.merged {
			t.Errorf("%s: within %v, kept %v, %s", name, r.isAccurate(), r.holdsTruth(), r)
		}
	}
}

func TestReadingOfSplitPhase(t *testing.T) {
	const ms = time.Millisecond
	pull, unpack := reported("pull", 0, 100*ms, ms), reported("unpack", 100*ms, 250*ms, ms)
	for name, test := range map[string]struct {
		phases []agent.Phase
		within bool
	}{
		"both":                    {[]agent.Phase{pull, unpack}, true},
		"only the first":          {[]agent.Phase{pull}, false},
		"only the second":         {[]agent.Phase{unpack}, false},
		"one phase as long":       {[]agent.Phase{reported("pull", 0, 250*ms, ms)}, true},
		"second is longer":        {[]agent.Phase{pull, reported("unpack", 100*ms, 301*ms, ms)}, false},
		"second has another name": {[]agent.Phase{pull, reported("network", 100*ms, 250*ms, ms)}, false},
	} {
		r := newReading("p", knownLength{phase: "pull", then: "unpack", truth: span(0, 250*ms)})
		if err := r.read(agent.Timeline{Phases: test.phases}); err != nil {
			t.Fatal(err)
		}
		if r.isAccurate() != test.within {
			t.Errorf("%s: within %v, %s", name, r.isAccurate(), r)
		}
		if test.within && (!r.reported.EndAt.Equal(after(250*ms)) || r.stated > 2*ms) {
			t.Errorf("%s: reported end %s, error bound %s", name, r.reported.EndAt, r.stated)
		}
	}
}

func TestMergedPhases(t *testing.T) {
	const s = time.Second
	k := knownStartUp{pod: "p", lengths: []knownLength{
		{phase: "startup_probe", container: "main", with: "readiness_probe", truth: span(0, s)},
		{phase: "readiness_probe", container: "main", truth: span(s, 3*s)}}}
	of := func(p agent.Phase, merged ...string) agent.Phase {
		p.Container, p.MergedWith = "main", merged
		return p
	}
	for name, test := range map[string]struct {
		phases                 []agent.Phase
		kept, reported, merged int
	}{
		"separate": {[]agent.Phase{of(reported("startup_probe", 0, s, 0)),
			of(reported("readiness_probe", s, 3*s, 0))}, 2, 2, 0},
		"merged": {[]agent.Phase{of(reported("startup_probe", 0, 3*s, 0), "readiness_probe")}, 1, 1,
			1},
		"merged, too short": {[]agent.Phase{of(reported("startup_probe", 0, 2*s, 0), "readiness_probe")}, 0, 1,
			1},
		"one phase without merged_with": {[]agent.Phase{of(reported("startup_probe", 0, 3*s, 0))}, 0, 1, 0},
		"merged with another phase": {[]agent.Phase{of(reported("startup_probe", 0, 3*s, 0), "post_start_hook")}, 0, 1,
			0},
	} {
		var all tally
		all.addTimeline(agent.Timeline{Phases: test.phases}, k)
		kept, there, merged := 0, 0, 0
		for _, r := range all.readings {
			if r.holdsTruth() {
				kept++
			}
			if !r.missing {
				there++
			}
			if r.mergedIn != "" {
				merged++
			}
		}
		if kept != test.kept || there != test.reported || merged != test.merged {
			t.Errorf("%s: %d kept, %d reported, %d merged: %v", name, kept, there, merged, all.readings)
		}
	}
}

func TestDelayedEnd(t *testing.T) {
	r := reading{happened: span(0, time.Second), endedLater: 100 * time.Millisecond}
	for measured, want := range map[time.Duration]bool{
		time.Second: true, 1150 * time.Millisecond: true, 1151 * time.Millisecond: false, 949 * time.Millisecond: false,
	} {
		r.measured = measured
		if r.holdsTruth() != want {
			t.Errorf("measured %s: kept is %v", measured, !want)
		}
	}
	if r.measured = 1100 * time.Millisecond; r.isAccurate() {
		t.Error("the delay of the end also widens within")
	}
}

func TestStartDuringCall(t *testing.T) {
	k := knownLength{truth: span(time.Second, 2*time.Second), begunBefore: after(970 * time.Millisecond),
		begunBy: after(1080 * time.Millisecond)}
	for measured, want := range map[time.Duration]bool{
		869 * time.Millisecond: false, 870 * time.Millisecond: true, 1080 * time.Millisecond: true,
		1081 * time.Millisecond: false,
	} {
		r := newReading("p", k)
		r.measured = measured
		if r.holdsTruth() != want {
			t.Errorf("measured %s: kept is %v", measured, !want)
		}
	}
	k.begunBefore, k.begunBy = after(0), after(2*time.Second)
	if r := newReading("p", k); r.begunEarlier != callLimit || r.begunLater != callLimit {
		t.Errorf("a call of 2 s allows %s and %s, want at most %s", r.begunEarlier, r.begunLater, callLimit)
	}
}

func TestMeets(t *testing.T) {
	held := span(100, 200)
	for name, test := range map[string]struct {
		reported agent.Milestone
		want     bool
	}{
		"around":   {agent.Milestone{Earliest: after(0), Latest: after(999)}, true},
		"touches":  {agent.Milestone{Earliest: after(200), Latest: after(999)}, true},
		"later":    {agent.Milestone{Earliest: after(201), Latest: after(999)}, false},
		"earlier":  {agent.Milestone{Earliest: after(0), Latest: after(99)}, false},
		"no start": {agent.Milestone{Latest: after(100)}, true},
		"no end":   {agent.Milestone{Earliest: after(100)}, true},
	} {
		if meetsRule(held, test.reported) != test.want {
			t.Errorf("%s: meets is %v", name, !test.want)
		}
	}
}

func TestKnownSpanBetween(t *testing.T) {
	s := knownSpan{"scheduling", span(0, 10), span(100, 130)}
	if shortest, longest := s.possibleDurations(); shortest != 90 || longest != 130 {
		t.Errorf("between %d and %d", shortest, longest)
	}
	overlapping := knownSpan{"scheduling", span(0, 10), span(5, 30)}
	if shortest, longest := overlapping.possibleDurations(); shortest != 0 || longest != 30 {
		t.Errorf("between %d and %d", shortest, longest)
	}
}

func TestTallyControlPlane(t *testing.T) {
	timeline := agent.Timeline{TotalSeconds: "3", TotalError: "0.5",
		Phases:     []agent.Phase{reported("scheduling", 0, time.Second, time.Second)},
		Milestones: []agent.Milestone{{Milestone: "created", Earliest: after(0), Latest: after(time.Second)}}}
	right := knownStartUp{pod: "p",
		milestones: []knownMilestone{{"created", span(500*time.Millisecond, 600*time.Millisecond)}},
		spans: []knownSpan{
			// The true duration is at least 2 s. The agent reports 1 s with an error bound of 1 s, so at most 2 s.
			{"scheduling", span(0, 1), span(2*time.Second, 3*time.Second)},
			{"", span(0, 0), span(3500*time.Millisecond, 3500*time.Millisecond)},
		}}
	var good tally
	good.addTimeline(timeline, right)
	if len(good.refuted) != 0 || len(good.problems) != 0 || good.stamps != 3 {
		t.Errorf("got %+v", good)
	}
	wrong := knownStartUp{pod: "p",
		milestones: []knownMilestone{{"created", span(1001*time.Millisecond, 2*time.Second)},
			{"scheduled", span(0, 1)}},
		spans: []knownSpan{
			{"scheduling", span(0, 0), span(2001*time.Millisecond, 3*time.Second)},
			{"", span(0, 0), span(3501*time.Millisecond, 3501*time.Millisecond)},
			{"readiness_gates", span(0, 0), span(0, 0)},
		}}
	var bad tally
	bad.addTimeline(timeline, wrong)
	if len(bad.refuted) != 4 || len(bad.problems) != 1 {
		t.Errorf("refuted %q, problems %q", bad.refuted, bad.problems)
	}
}

func TestOneInHundredPhasesMayBeWrong(t *testing.T) {
	for off, want := range map[int]bool{0: false, 1: false, 2: true} {
		var counted tally
		for i := range 100 {
			r := reading{phase: "network", happened: span(0, time.Second), measured: time.Second, stated: time.Second}
			if i < off {
				r.measured += 2 * exact
			}
			counted.readings = append(counted.readings, r)
		}
		v := &Verdict{}
		counted.judgeExactness(v)
		if v.Failed() != want {
			t.Errorf("%d wrong phases: %q", off, v.Problems)
		}
	}
}

func TestDelayedStart(t *testing.T) {
	for name, test := range map[string]struct {
		begunBefore time.Duration
		over, kept  bool
	}{
		"unknown":              {0, true, false},
		"60 ms before":         {940 * time.Millisecond, true, true},
		"queued until then":    {500 * time.Millisecond, false, true},
		"impossible, as later": {1100 * time.Millisecond, true, false},
	} {
		k := knownLength{phase: "pull", truth: span(time.Second, 3*time.Second), begunBefore: after(test.begunBefore)}
		if test.begunBefore == 0 {
			k.begunBefore = time.Time{}
		}
		r := newReading("p", k)
		if r.measured = 2*time.Second + exact + 60*time.Millisecond; r.holdsTruth() != test.kept {
			t.Errorf("%s: kept is %v", name, r.holdsTruth())
		}
		if r.measured = 2*time.Second + exact + callLimit + 1; r.holdsTruth() {
			t.Errorf("%s: a call longer than callLimit is allowed", name)
		}
	}
}

func TestFaultNotInjectedAsPlanned(t *testing.T) {
	for name, test := range map[string]struct {
		length  knownLength
		problem bool
	}{
		"as injected":                {knownLength{injected: time.Second, truth: span(0, time.Second)}, false},
		"50 ms less":                 {knownLength{injected: time.Second, truth: span(0, 950*time.Millisecond)}, false},
		"no delay":                   {knownLength{injected: time.Second, truth: span(0, 20*time.Millisecond)}, true},
		"more, ended by a component": {knownLength{injected: time.Second, truth: span(0, time.Minute)}, false},
		"more, ended by the injector": {knownLength{injected: time.Second, truth: span(0, 5*time.Second),
			injectorEnds: true}, false},
		"too much, ended by the injector": {knownLength{injected: time.Second, truth: span(0, 7*time.Second),
			injectorEnds: true}, true},
		"no fault, and no delay": {knownLength{truth: span(0, 0), injectorEnds: true}, false},
	} {
		test.length.phase = "network"
		var counted tally
		network := reported("network", 0, test.length.truth.Length(), 0)
		counted.addTimeline(agent.Timeline{Phases: []agent.Phase{network}},
			knownStartUp{pod: "p", lengths: []knownLength{test.length}})
		if got := len(counted.problems) > 0; got != test.problem {
			t.Errorf("%s: problems %q", name, counted.problems)
		}
	}
}

func TestInjectedPartOfPhase(t *testing.T) {
	stated := map[string]time.Time{workload.WordStarted: after(0), workload.WordStartup: after(2100 * time.Millisecond),
		workload.WordReady: after(3 * time.Second)}
	p := plan{startedAfter: 2 * time.Second, readyAfter: 3 * time.Second}
	got := map[string]time.Duration{}
	records := independentRecords{stated: map[string]map[string]time.Time{mainName: stated}}
	for _, length := range p.trueLengths(records) {
		got[length.phase] = length.injected
		if err := length.happenedOtherwise(); length.container == mainName && length.phase != "pull" && err != nil {
			t.Error(err)
		}
	}
	if got["startup_probe"] != 2*time.Second || got["readiness_probe"] != 900*time.Millisecond {
		t.Errorf("injected %v", got)
	}
}

func TestStatedErrorsAreLimited(t *testing.T) {
	skewed := &agent.Skew{Least: "-1.5", Most: "-0.5"}
	for name, test := range map[string]struct {
		earliest, latest, stated time.Duration
		skew                     *agent.Skew
		problems                 int
	}{
		"one second":          {0, time.Second, 2 * time.Second, nil, 0},
		"wider":               {0, time.Second + 1, 2*time.Second + 1, nil, 2},
		"widened by the skew": {0, 2500 * time.Millisecond, 3500 * time.Millisecond, skewed, 0},
		"wider than the skew": {0, 2501 * time.Millisecond, 3501 * time.Millisecond, skewed, 2},
		"an hour":             {-time.Hour, time.Hour, time.Hour, nil, 2},
		"invalid skew":        {0, time.Second, time.Second, &agent.Skew{Least: "x"}, 1},
	} {
		timeline := agent.Timeline{TotalSeconds: "1", TotalError: decimal(test.stated), ClockSkew: test.skew,
			Milestones: []agent.Milestone{{Milestone: "created", Earliest: after(test.earliest),
				Latest: after(test.latest)}}}
		var counted tally
		counted.addTimeline(timeline, knownStartUp{pod: "p", milestones: []knownMilestone{{"created", span(0, 1)}},
			spans: []knownSpan{{"", span(0, 0), span(0, time.Second)}}})
		if len(counted.problems) != test.problems || len(counted.refuted) > 0 {
			t.Errorf("%s: problems %q, refuted %q", name, counted.problems, counted.refuted)
		}
	}
	var open tally
	open.addTimeline(agent.Timeline{Milestones: []agent.Milestone{{Milestone: "created", Latest: after(time.Second)}}},
		knownStartUp{pod: "p", milestones: []knownMilestone{{"created", span(0, 1)}}})
	if len(open.problems) != 1 {
		t.Errorf("milestone without an end: problems %q", open.problems)
	}
}
