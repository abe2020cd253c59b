package timeline

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"
)

var (
	seeds    = flag.Uint64("seeds", 700, "how many lives TestSimulatedPods simulates for each sight")
	fromSeed = flag.Uint64("seed", 0, "the first of them")
)

// sourceSet is how much of the truth the sources report.
type sourceSet struct {
	name  string
	scope Scope
	loss  func(*rand.Rand) loss
}

var sourceSets = []sourceSet{
	{"all", Scope{Runtime: true, Events: true}, func(*rand.Rand) loss { return loss{} }},
	{"some", Scope{Runtime: true, Events: true}, someLoss},
	{"no Events", Scope{Runtime: true}, someLoss},
	{"no runtime", Scope{Events: true}, someLoss},
	{"pods only", Scope{}, someLoss},
}

func someLoss(random *rand.Rand) loss {
	part := func() float64 {
		if random.IntN(2) == 0 {
			return 0
		}
		return random.Float64()
	}
	flip := func() bool { return random.IntN(3) == 0 }
	return loss{events: part(), statuses: part(), answers: part(), blind: flip(), late: flip(), shuffled: true,
		forgets: flip()}
}

// openCells are the properties that still break in some of the first 700 simulated pods, with their number, by
// source set: remaining evidence is mistaken for lost evidence. A cell that breaks in more is a regression and
// fails. One that breaks in none fails, too, so that it is deleted with the last of its faults. Without Events, two
// of the causes are registries charged with a back-off: a failed attempt had brought the manifest, and the status
// that reported its failure was lost.
var openCells = map[string]map[property]int{
	// A try that took long before its sandbox failed is unattributed.
	"all":       {noOvercharge: 1, namesTrue: 1},
	"some":      {milestoneHeld: 1, noOvercharge: 20, noCauseOvercharge: 3},
	"no Events": {noOvercharge: 20, noCauseOvercharge: 4},
	// A second run's pull is taken for the first one's.
	"no runtime": {milestoneHeld: 1, noOvercharge: 46, noCauseOvercharge: 2},
	"pods only":  {noOvercharge: 9, noCauseOvercharge: 1},
}

// TestSimulatedPods compares timelines with the truth: no property may break, whatever part of the truth was
// reported. It prints the first pod that breaks a property, with both sides and as a script. -seed N -seeds 1 runs
// only that pod.
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
						t.Skipf("open: breaks in %d of %d lives, first %s", n, *seeds, first[property])
					case n == 0 && open[property] > 0 && *seeds >= 700:
						t.Errorf("holds in all %d lives: it is open no more", *seeds)
					case n > 0:
						t.Errorf("breaks in %d of %d lives, first %s", n, *seeds, first[property])
					}
				})
			}
		})
	}
}

// checkSimulated folds one simulated pod, as far as it was seen, after its end and once in the middle. The
// violations contain everything that a reader needs.
func checkSimulated(t *testing.T, s sourceSet, seed uint64) map[property]string {
	l := simulate(rand.New(rand.NewPCG(seed, 11)))
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
			breaches[property] = fmt.Sprintf("seed %d: %s\n%s%s", seed, breach, p.summary(),
				writeScript(s.scope, l.pod.Containers, l.pod.ReadinessGates, observations))
		}
		return breaches
	}
	breaches := check(last.Add(20*time.Second), w.loss == loss{})
	created := l.milestones[trueMilestone{milestone: MilestoneCreated}]
	maps.Copy(breaches, check(created.Add(time.Duration(random.Int64N(int64(last.Sub(created))))), false))
	return breaches
}
