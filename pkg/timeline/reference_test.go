package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestTighteningMatchesReference compares the evidence and the tightened bounds with a simple implementation. The
// simple implementation applies each observation alone. It orders all pairs of milestones until no bound changes.
func TestTighteningMatchesReference(t *testing.T) {
	compared, early := 0, 0
	check := func(name string, seed uint64, a Scope, observations []Observation) {
		checkConstraints(t, a, observations)
		same, stopped := checkTightening(t, a, observations)
		if t.Failed() {
			t.Fatalf("%s, seed %d", name, seed)
		}
		if same {
			compared++
		}
		if stopped {
			early++
		}
	}
	for _, s := range Scripts(t) {
		check(s.Name, 0, s.Scope, s.Observations)
	}
	for seed := range uint64(300) {
		check("nonsense", seed, Scope{Runtime: true, Events: true}, RandomObservations(seed))
		for _, s := range sourceSets {
			random := rand.New(rand.NewPCG(seed, 12))
			w := &simulatedSources{simulatedPod: simulate(rand.New(rand.NewPCG(seed, 11))), random: random,
				loss: s.loss(random)}
			check(s.name, seed, s.scope, w.observe(s.scope))
		}
	}
	if compared < 1000 {
		t.Errorf("only %d without a contradiction", compared)
	}
	if early > 0 {
		t.Errorf("%d stopped before nothing changed: maxTighteningRounds is not enough", early)
	}
}

// namedConstraint is a constraint with the name of its container, because the container's index depends on the first
// observations.
type namedConstraint struct {
	constraint
	container string
}

func constraintsByName(e *Evidence) []namedConstraint {
	var all []namedConstraint
	for _, c := range e.constraints {
		n := namedConstraint{constraint: c}
		if c.key.container != podWide {
			n.container = e.containers[c.key.container].name
		}
		n.key.container = 0
		all = append(all, n)
	}
	return all
}

// checkConstraints checks that evidence keeps the best constraint of each origin from all observations.
func checkConstraints(t *testing.T, a Scope, observations []Observation) {
	t.Helper()
	e := NewEvidence(a)
	var best []namedConstraint
	for _, o := range observations {
		e.Apply(o)
		alone := NewEvidence(a)
		alone.Apply(o)
		for _, n := range constraintsByName(alone) {
			i := slices.IndexFunc(best, func(b namedConstraint) bool {
				return b.key == n.key && b.container == n.container && b.origin == n.origin
			})
			switch {
			case i < 0:
				best = append(best, n)
			case n.latest < best[i].latest, n.latest == best[i].latest && n.earliest > best[i].earliest,
				n.latest == best[i].latest && n.earliest == best[i].earliest && n.bias > best[i].bias:
				best[i] = n
			}
		}
	}
	kept := constraintsByName(e)
	if len(kept) != len(best) {
		t.Errorf("%d claims kept of %d", len(kept), len(best))
	}
	for _, n := range best {
		if !slices.Contains(kept, n) {
			t.Errorf("not kept: %+v", n)
		}
	}
}

// extent holds the two ends of a bound.
type extent struct{ earliest, latest instant }

// checkTightening checks that tightening returns exactly the reference bounds. If tightening stopped early, the bounds
// can be wider. If constraints contradict each other, the bounds depend on the order of the constraints, so
// checkTightening compares nothing.
func checkTightening(t *testing.T, a Scope, observations []Observation) (compared, stopped bool) {
	t.Helper()
	e := NewEvidence(a)
	for _, o := range observations {
		e.Apply(o)
	}
	if !e.PodSeen() {
		return false, false
	}
	f := newFold(e, at(base.Add(100*time.Second)), Skew{})
	naive, consistent := referenceBounds(f.constraints)
	sequences := f.milestonesInOrder()
	if !consistent || !relax(naive, sequences) {
		return false, false
	}
	once := newFold(e, f.asOf, f.skew)
	for _, s := range once.milestonesInOrder() {
		s.narrowBounds()
	}
	for _, b := range once.bounds {
		if n := naive[b.key]; b.earliest > n.earliest || b.latest < n.latest {
			t.Errorf("after one pass %v: %s, narrower than naively %s", b.key, interval(b.earliest, b.latest),
				interval(n.earliest, n.latest))
		}
	}
	if broken := tighten(sequences); len(broken) > 0 || len(f.milestoneConflicts) > 0 {
		t.Errorf("wrong conflict: %v %v", broken, f.milestoneConflicts)
	}
	tightened := slices.Clone(f.bounds)
	for _, s := range sequences {
		changed, _ := s.narrowBounds()
		stopped = stopped || changed
	}
	f.bounds = tightened
	if len(f.bounds) != len(naive) {
		t.Errorf("%d bounds, naively %d", len(f.bounds), len(naive))
	}
	for _, b := range f.bounds {
		n := naive[b.key]
		if b.earliest > n.earliest || b.latest < n.latest || !stopped && *n != (extent{b.earliest, b.latest}) {
			t.Errorf("%v: %s, naively %s", b.key, interval(b.earliest, b.latest), interval(n.earliest, n.latest))
		}
	}
	return true, stopped
}

// referenceBounds intersects all constraints on each milestone. referenceBounds returns false if the
// intersection for a milestone is empty.
func referenceBounds(constraints []constraint) (map[milestoneKey]*extent, bool) {
	all := map[milestoneKey]*extent{}
	for _, c := range constraints {
		if all[c.key] == nil {
			all[c.key] = &extent{minInstant, maxInstant}
		}
		b := all[c.key]
		b.earliest, b.latest = max(b.earliest, c.earliest), min(b.latest, c.latest)
		if b.earliest > b.latest {
			return nil, false
		}
	}
	return all, true
}

// relax orders all pairs of milestones in each sequence until no bound changes. The fold orders only neighbors. relax
// returns false if the interval of a milestone becomes empty.
func relax(all map[milestoneKey]*extent, sequences []sequence) bool {
	for changed := true; changed; {
		changed = false
		for _, s := range sequences {
			for i, k := range s {
				for _, l := range s[i+1:] {
					before, after := all[k.key], all[l.key]
					if before == nil || after == nil {
						continue
					}
					if before.latest > after.latest {
						before.latest, changed = after.latest, true
					}
					if after.earliest < before.earliest {
						after.earliest, changed = before.earliest, true
					}
					if before.earliest > before.latest || after.earliest > after.latest {
						return false
					}
				}
			}
		}
	}
	return true
}
