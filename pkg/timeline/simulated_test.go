package timeline

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var (
	seeds    = flag.Uint64("seeds", 700, "the number of pods that TestSimulatedPods simulates for each source set")
	fromSeed = flag.Uint64("seed", 0, "the seed of the first simulated pod")
)

// sourceSet describes the part of the truth that the sources report.
type sourceSet struct {
	name  string
	scope Scope
	loss  func(*rand.Rand) loss
}

var sourceSets = []sourceSet{
	{"all", Scope{Runtime: true, Events: true}, func(*rand.Rand) loss { return loss{} }},
	{"some", Scope{Runtime: true, Events: true}, someLoss},
	{"some Events", Scope{Runtime: true, Events: true},
		func(*rand.Rand) loss { return loss{revision: true} }},
	{"no Events", Scope{Runtime: true}, someLoss},
	{"no runtime", Scope{Events: true}, someLoss},
	{"pods only", Scope{}, someLoss},
}

// weakSets are source sets of common installations with fewer sources than an agent on containerd 2 has. They lose no
// observation at random. The tests simulate fewer pods for each of these sets, to save time: see sourceSet.podCount.
var weakSets = []sourceSet{
	{"late agent", Scope{Runtime: true, Events: true}, func(random *rand.Rand) loss {
		return loss{lateAgent: true, revision: random.IntN(2) == 0}
	}},
	{"CRI only", Scope{Runtime: true, Events: true}, perhapsLate(loss{storeless: true})},
	{"CRI only, Events off", Scope{Runtime: true}, perhapsLate(loss{storeless: true})},
	{"Events off", Scope{Runtime: true}, perhapsLate(loss{})},
	{"runtime off", Scope{Events: true}, perhapsLate(loss{})},
	{"runtime off, Events off", Scope{}, perhapsLate(loss{})},
}

// perhapsLate lets the agent start during half of the start-ups. The agent can then miss the earlier Events.
func perhapsLate(l loss) func(*rand.Rand) loss {
	return func(random *rand.Rand) loss {
		own := l
		own.lateAgent = random.IntN(2) == 0
		own.revision = own.lateAgent && random.IntN(2) == 0
		return own
	}
}

// podCount returns the number of pods that a test simulates for a source set. If the flag -seeds asks for one pod, the
// method returns 1 for each set.
func (s sourceSet) podCount() uint64 {
	if slices.ContainsFunc(weakSets, func(weak sourceSet) bool { return weak.name == s.name }) {
		return (*seeds + 1) / 2
	}
	return *seeds
}

func someLoss(random *rand.Rand) loss {
	part := func() float64 {
		if random.IntN(2) == 0 {
			return 0
		}
		return random.Float64()
	}
	flip := func() bool { return random.IntN(3) == 0 }
	return loss{events: part(), statuses: part(), responses: part(), blind: flip(), late: flip(), shuffled: true,
		forgets: flip()}
}

// openCells lists the properties that still break in some of the first 700 simulated pods. For each source set and
// property, openCells contains the number of these pods. In these pods, an observation was lost, and the fold confuses
// another observation with it. If a property breaks in more pods, the test fails because of a regression. If the
// property breaks in no pod, the test also fails, so that the entry is deleted together with its last fault.
//
// With other seeds, one more property breaks: without Events, about 1 of 400 pods breaks noCauseOvercharge. In most of
// these pods, the timeline names a registry as the cause of a back-off. A failed attempt had brought the manifest, and
// the status that reported the failure was lost.
var openCells = map[string]map[property]int{
	"some":      {noOvercharge: 13},
	"no Events": {noOvercharge: 12},
	// The fold mistakes the pull of a second run for the pull of the first run.
	"no runtime": {milestoneHeld: 1, noOvercharge: 16},
	"pods only":  {noOvercharge: 9},
}

// TestSimulatedPods compares timelines with the truth. For each source set, no property may break. The test prints the
// first pod that breaks a property, with the timeline, the truth and a script. The flags -seed N -seeds 1 run only this
// pod.
func TestSimulatedPods(t *testing.T) {
	for _, s := range sourceSets {
		t.Run(s.name, func(t *testing.T) {
			open := openCells[s.name]
			broken, first := map[property]int{}, map[property]string{}
			for seed := *fromSeed; seed < *fromSeed+*seeds; seed++ {
				for property, breach := range checkSimulated(t, s, seed) {
					if broken[property]++; first[property] == "" {
						first[property] = breach
					}
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			for _, property := range properties {
				t.Run(string(property), func(t *testing.T) {
					switch n := broken[property]; {
					case n > 0 && (n <= open[property] || *seeds != 700 && open[property] > 0):
						t.Skipf("open: the property breaks in %d of %d pods, first %s", n, *seeds, first[property])
					case n == 0 && open[property] > 0 && *seeds >= 700:
						t.Errorf("the property holds in all %d pods: delete its entry in openCells", *seeds)
					case n > 0:
						t.Errorf("the property breaks in %d of %d pods, first %s", n, *seeds, first[property])
					}
				})
			}
		})
	}
}

// checkSimulated folds the observations of one simulated pod, after its end and once in the middle. The returned
// violations contain all information that a reader needs.
func checkSimulated(t *testing.T, s sourceSet, seed uint64) map[property]string {
	return checkObserved(t, s, seed, simulate(rand.New(rand.NewPCG(seed, 11))))
}

// checkObserved does the same as checkSimulated for the given pod.
func checkObserved(t *testing.T, s sourceSet, seed uint64, l *simulatedPod) map[property]string {
	if !l.endsOnce() {
		return nil
	}
	random := rand.New(rand.NewPCG(seed, 12))
	w := &simulatedSources{simulatedPod: l, random: random, loss: s.loss(random)}
	observations := w.observe(s.scope)
	last := l.now
	for _, o := range observations {
		if at := o.Arrived(); at.After(last) {
			last = at
		}
	}
	check := func(now time.Time, complete bool) map[property]string {
		e := NewEvidence(s.scope)
		for _, o := range observations {
			if !o.Arrived().After(now) {
				e.Apply(o)
			}
		}
		got, ok := e.Timeline(now, Skew{})
		if !ok {
			return nil
		}
		checkPartition(t, got)
		p := &propertyCheck{simulatedPod: l, got: got, complete: complete, now: now}
		breaches := p.check()
		for property, breach := range breaches {
			breaches[property] = fmt.Sprintf("seed %d: %s\n%s%s", seed, breach, p.describePhases(),
				writeScript(s.scope, &l.pod, observations))
		}
		return breaches
	}
	breaches := check(last.Add(20*time.Second), w.loss == loss{})
	created := l.milestones[trueMilestone{milestone: MilestoneCreated}]
	maps.Copy(breaches, check(created.Add(time.Duration(random.Int64N(int64(last.Sub(created))))), false))
	return breaches
}
