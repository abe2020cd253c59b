package timeline

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// setAt returns a change of the clock. The clock showed "at" seconds immediately after the change.
func setAt(at, by float64) ClockSet {
	return ClockSet{base.Add(time.Duration(at * float64(time.Second))), time.Duration(by * float64(time.Second))}
}

func TestClockChangesBetweenTwoEvents(t *testing.T) {
	for name, test := range map[string]struct {
		sets        []ClockSet
		from, until int // seconds
		want        float64
	}{
		"no change":                            {nil, 10, 20, 0},
		"before":                               {[]ClockSet{setAt(8, 3)}, 10, 20, 0},
		"before, set back":                     {[]ClockSet{setAt(4, -3)}, 10, 20, 0},
		"after":                                {[]ClockSet{setAt(25, 3)}, 10, 20, 0},
		"after, set back":                      {[]ClockSet{setAt(22, -3)}, 10, 20, 0},
		"between":                              {[]ClockSet{setAt(18, 3)}, 10, 20, 3},
		"between, set back":                    {[]ClockSet{setAt(12, -3)}, 10, 20, 3},
		"the end seems to be before the start": {[]ClockSet{setAt(-40, -60)}, 10, -30, 60},
		"the order is unknown":                 {[]ClockSet{setAt(9, -30)}, 10, 20, 30},
		"just before, within a second":         {[]ClockSet{setAt(10.5, 3)}, 10, 20, 3},
		"several": {[]ClockSet{setAt(12, -0.5), setAt(14, 0.25), setAt(16, -2), setAt(90, 60)}, 10, 20,
			2.75},
		// The clock shows 1000, is set back to 100, runs for 10 s, is set forward to 120, and runs for 10 s.
		"a later change looks older than the start": {[]ClockSet{setAt(100, -900), setAt(120, 10)}, 1000, 130, 910},
		"larger than a Duration": {[]ClockSet{{base, math.MinInt64}, {base, math.MaxInt64}}, -1, 1,
			time.Duration(math.MaxInt64).Seconds()},
	} {
		var log ClockLog
		for _, set := range test.sets {
			log.Observe(set)
		}
		from, until := base.Add(time.Duration(test.from)*time.Second), base.Add(time.Duration(test.until)*time.Second)
		if got := log.ChangedBetween(from, until).Seconds(); got != test.want {
			t.Errorf("%s: %g s, want %g s", name, got, test.want)
		}
	}
}

func TestChangesBeforeAPodAreLeftOut(t *testing.T) {
	at := func(seconds float64) time.Time { return setAt(seconds, 0).ArrivedAt }
	for name, test := range map[string]struct {
		sets  []ClockSet
		first PodSeen
		want  int // changes that can matter
	}{
		"set back long before":    {[]ClockSet{setAt(10, -900)}, PodSeen{ArrivedAt: at(90), Live: true}, 0},
		"set back just before":    {[]ClockSet{setAt(10, -900)}, PodSeen{ArrivedAt: at(50), Live: true}, 1},
		"from a list":             {[]ClockSet{setAt(10, -900)}, PodSeen{ArrivedAt: at(90)}, 1},
		"a static pod":            {[]ClockSet{setAt(10, -900)}, PodSeen{at(90), true, Pod{ReadAt: at(1)}}, 1},
		"set forward long before": {[]ClockSet{setAt(10, 5)}, PodSeen{ArrivedAt: at(90), Live: true}, 0},
		"set forward just before": {[]ClockSet{setAt(10, 5)}, PodSeen{ArrivedAt: at(50), Live: true}, 1},
		"set back, then forward again": {[]ClockSet{setAt(10, -900), setAt(70, 50)},
			PodSeen{ArrivedAt: at(90), Live: true}, 2},
	} {
		var log, got ClockLog
		for _, set := range test.sets {
			log.Observe(set)
		}
		log.ApplyTo(applied{&got}, test.first)
		if n := len(got.Sets()); n != test.want {
			t.Errorf("%s: %d changes, want %d", name, n, test.want)
		}
	}
}

// applied is evidence that consists of changes of the clock.
type applied struct{ *ClockLog }

// Apply adds a change.
func (a applied) Apply(o Observation) bool { return a.Observe(o) }

// TestCorrectedJumpIsLeftOut sets the clock forward by an hour, and back ten minutes later. Pods that an open watch
// delivers after that are not affected, although the clock shows the same times again.
func TestCorrectedJumpIsLeftOut(t *testing.T) {
	var log, changes ClockLog
	log.Observe(setAt(3600, 3600))
	log.Observe(setAt(600, -3600))
	log.ApplyTo(applied{&changes}, PodSeen{ArrivedAt: setAt(1800, 0).ArrivedAt, Live: true})
	if got := changes.Sets(); len(got) != 0 {
		t.Errorf("applied %v, want no change", got)
	}
}

func TestClockLogIsBounded(t *testing.T) {
	var log ClockLog
	if log.Observe(ClockSet{ArrivedAt: base}) || log.Observe(PodGone{}) {
		t.Error("an observation without a change is new")
	}
	for i := range 2 * maxClockSets {
		if set := setAt(float64(i), 1); !log.Observe(set) || log.Observe(set) {
			t.Fatalf("change %d is not new once", i)
		}
	}
	if log.Observe(setAt(0, 1)) {
		t.Error("a full log takes a change that is older than all others")
	}
	sets := log.Sets()
	if len(sets) != maxClockSets || sets[0] != setAt(maxClockSets, 1) || !slices.IsSortedFunc(sets, compareClockSets) {
		t.Errorf("%d changes since %s", len(sets), sets[0].ArrivedAt)
	}
}

// TestClockSetForwardGivesUpNoPod sets the clock forward by a day while a pod starts.
func TestClockSetForwardGivesUpNoPod(t *testing.T) {
	const day = 24 * time.Hour
	seen := PodSeen{ArrivedAt: base, Live: true, Pod: Pod{UID: "u", CreatedAt: base}}
	set := ClockSet{ArrivedAt: base.Add(day + time.Minute), By: day}
	for _, observations := range [][]Observation{{seen, set}, {set, seen}} {
		e := NewEvidence(Scope{})
		for _, o := range observations {
			e.Apply(o)
		}
		soon, late := set.ArrivedAt.Add(time.Minute), base.Add(day+giveUpAfter)
		if e.Settled(soon) || e.Settled(late.Add(-1)) || !e.Settled(late) {
			t.Errorf("settled after a minute %t, after an hour %t", e.Settled(soon), e.Settled(late))
		}
		if got, _ := e.Timeline(late, Skew{}); got.State != StateGivenUp || got.Total != day+giveUpAfter ||
			got.TotalError < day {
			t.Errorf("%s after %s ±%s", got.State, got.Total, got.TotalError)
		}
	}
}

// TestClockSetBackGivesUpOnTime sets the clock back by a minute while a pod starts. The agent gives up an hour after it
// first saw the pod. If the clock showed the time of the first sighting twice, the agent waits longer.
func TestClockSetBackGivesUpOnTime(t *testing.T) {
	for seenAgo, waits := range map[time.Duration]time.Duration{
		2 * time.Minute:  giveUpAfter - 2*time.Minute,
		30 * time.Second: giveUpAfter - 30*time.Second + time.Minute,
	} {
		set := ClockSet{ArrivedAt: base, By: -time.Minute}
		e := NewEvidence(Scope{})
		e.Apply(PodSeen{ArrivedAt: base.Add(time.Minute - seenAgo), Live: true, Pod: Pod{UID: "u", CreatedAt: base}})
		e.Apply(set)
		if e.Settled(base.Add(waits-1)) || !e.Settled(base.Add(waits)) {
			t.Errorf("seen %s before the change: does not give up after %s", seenAgo, waits)
		}
	}
}

// TestClockSetDuringEphemeralPull sets the clock during the pull for an ephemeral container. An older change does not
// matter, although the pod is older than this change.
func TestClockSetDuringEphemeralPull(t *testing.T) {
	pulled := func(sets ...ClockSet) Pull {
		pod := Pod{UID: "u", CreatedAt: base.Add(-time.Hour), Containers: []Container{
			{Name: "app", Image: "base", State: StateRunning},
			{Name: "debugger", Kind: KindEphemeral, Image: "cold", PullPolicy: PullIfNotPresent},
		}}
		d := NewEphemeralEvidence(Scope{Events: true}, PodSeen{ArrivedAt: base, Live: true, Pod: pod}, nil)
		event := func(reason, message string, at time.Duration) {
			d.Apply(EventSeen{UID: "u", ArrivedAt: base.Add(at), Live: true, Container: "debugger", Reason: reason,
				Message: message, NamedAt: base.Add(at), FirstAt: base.Add(at).Truncate(time.Second),
				LastAt: base.Add(at).Truncate(time.Second), Count: 1})
		}
		event("Pulling", `Pulling image "cold"`, time.Second)
		event("Pulled", `Successfully pulled image "cold" in 4s (4s including waiting). Image size: 1000 bytes.`,
			65*time.Second)
		for _, set := range sets {
			d.Apply(set)
		}
		pulls := d.Pulls(base.Add(2*time.Minute), Skew{})
		return pulls[len(pulls)-1]
	}
	plain, older := pulled(), pulled(setAt(-50, 60))
	if plain.RequestedAt.IsZero() || !older.RequestedAt.Equal(plain.RequestedAt) || older.Error != plain.Error {
		t.Errorf("an older change turns\n%+v into\n%+v", plain, older)
	}
	got := pulled(setAt(62, 60))
	if !got.Timed || (got.Pull-4*time.Second).Abs() > got.Error || got.Error > plain.Error || got.QueueTimed ||
		!got.RequestedAt.IsZero() || got.Outcome != imagepull.OutcomeUnknown {
		t.Errorf("got %+v", got)
	}
}
