package whatif

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestPredictionsContainTheTruth simulates pods, predicts each change from the record of the simulated start-up, and
// then simulates the pod with the change. The true duration must lie in the predicted interval. On average, the
// intervals must not be longer than widthLimit.
func TestPredictionsContainTheTruth(t *testing.T) {
	predicted := map[api.WhatIf]int{}
	width, widest := map[api.WhatIf]time.Duration{}, map[api.WhatIf]time.Duration{}
	estimated, gained := map[api.WhatIf]time.Duration{}, map[api.WhatIf]time.Duration{}
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 7))
		pod := randomPod(random)
		before := simulate(pod, random, false, false)
		if slices.ContainsFunc(before.steps, hidden) {
			continue // the object appeared before the kubelet needed it, so no evidence shows when
		}
		record := before.record(pod, random)
		for _, p := range predictionsOf(record) {
			after := changed(pod, p.Change, p.Container, random)
			if p.Change == api.WhatIfNoCrash || p.Change == api.WhatIfReadiness || p.Change == api.WhatIfStartup {
				keepWaits(after, before.steps) // what came before the change takes as long as before
			}
			predicted[p.Change]++
			width[p.Change] += p.TotalMost.Duration() - p.TotalLeast.Duration()
			widest[p.Change] += widthLimit(record, p.Change)
			estimated[p.Change] += p.Gain.Duration()
			if p.Gain != 0 && (p.Gain < p.GainLeast || p.Gain > p.GainMost) {
				t.Errorf("seed %d: %s gains %s s, not between %s and %s s", seed, p.Change, p.Gain, p.GainLeast,
					p.GainMost)
			}
			for trial := range 3 {
				same := simulate(after, random, false, trial == 1)
				if trial < 2 { // with and without a shared download rate
					gained[p.Change] += (before.total - same.total) / 2
				}
				check(t, seed, p, "total", p.TotalLeast, p.TotalMost, same.total)
				check(t, seed, p, "gain", p.GainLeast, p.GainMost+byChance(record, p), before.total-same.total)
				check(t, seed, p, "varied total", p.TotalLeast, p.TotalMost,
					simulate(after, random, true, trial == 1).total)
			}
			if most := longestWait(record, p); p.GainMost > most {
				t.Errorf("seed %d: %s gains %s s, but the pod waited for at most %s s", seed, p.Change, p.GainMost,
					most)
			}
			if p.GainMost > record.Total {
				t.Errorf("seed %d: %s gains %s s of a start-up of %s s", seed, p.Change, p.GainMost, record.Total)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d: %+v\n%+v", seed, pod, before.steps)
		}
	}
	for _, change := range []api.WhatIf{api.WhatIfImages, api.WhatIfParallelPulls, api.WhatIfVolumes,
		api.WhatIfConfig, api.WhatIfNoCrash, api.WhatIfSidecar, api.WhatIfReadiness, api.WhatIfStartup} {
		n := predicted[change]
		mean, most := width[change]/time.Duration(max(n, 1)), widest[change]/time.Duration(max(n, 1))
		t.Logf("%s: %d predictions, mean width %s, at most %s", change, n, mean, most)
		if n < 200 {
			t.Errorf("%s: only %d predictions", change, n)
		}
		if mean > most {
			t.Errorf("%s: the mean width is %s, want at most %s", change, mean, most)
		}
		byChance := change == api.WhatIfReadiness || change == api.WhatIfStartup
		if off := estimated[change] - gained[change]; !byChance && off.Abs() > gained[change]/20 ||
			byChance && estimated[change] != 0 {
			t.Errorf("%s: the estimates of the gain exceed the gain by %s in total; the gain is %s", change, off,
				gained[change])
		}
	}
}

// hidden reports whether a step is a very short wait for an object or for a readiness gate.
func hidden(s step) bool {
	return (s.phase == timeline.PhaseContainerConfig || s.phase == timeline.PhaseReadinessGates) && s.length < waitLeast
}

func keepWaits(pod simulatedPod, steps []step) {
	for _, s := range steps {
		for i := range pod.containers {
			if c := &pod.containers[i]; s.phase == timeline.PhaseContainerConfig && s.container == c.name {
				c.waits = s.length
			}
		}
	}
}

func check(t *testing.T, seed uint64, p api.WhatIfRecord, what string, low, high api.Seconds, truth time.Duration) {
	t.Helper()
	if truth < low.Duration() || truth > high.Duration() {
		t.Errorf("seed %d: %s of %q: true %s is %s, want %s to %s s", seed, p.Change, p.Container, what, truth, low,
			high)
	}
}

// changed makes a change for real.
func changed(pod simulatedPod, change api.WhatIf, container string, random *rand.Rand) simulatedPod {
	pod.containers = slices.Clone(pod.containers)
	if change == api.WhatIfVolumes {
		pod.volumes = between(random, 0, readyMount)
	}
	for i := range pod.containers {
		c := &pod.containers[i]
		if c.name != container && container != "" {
			continue
		}
		switch change {
		case api.WhatIfImages:
			c.absent = false
		case api.WhatIfParallelPulls:
			c.parallel = true
		case api.WhatIfConfig:
			c.configuredAt = 0
		case api.WhatIfNoCrash:
			c.crashes = 0
		case api.WhatIfSidecar:
			c.kind = timeline.KindSidecar
		case api.WhatIfReadiness:
			c.period = time.Second
		case api.WhatIfStartup:
			c.startup = time.Second
		}
	}
	return pod
}

func between(random *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(random.Float64()*float64(high-low))
}

func randomPod(random *rand.Rand) simulatedPod {
	const ms = time.Millisecond
	chance := func(one int) bool { return random.IntN(one) == 0 }
	pod := simulatedPod{sched: between(random, 0, 300*ms), volumes: between(random, 100*ms, 600*ms),
		network: between(random, 50*ms, 900*ms), sandbox: between(random, 50*ms, 300*ms)}
	if chance(6) {
		pod.volumes = between(random, time.Second, 20*time.Second)
	}
	if chance(12) {
		pod.gateAt = between(random, time.Second, 60*time.Second)
	}
	mains := 1 + random.IntN(3)
	add := func(kind timeline.ContainerKind) {
		c := simulatedContainer{name: fmt.Sprintf("c%d", len(pod.containers)), kind: kind,
			pull: between(random, 200*ms, 30*time.Second), create: between(random, 10*ms, 100*ms),
			start: between(random, 20*ms, 300*ms), run: between(random, 50*ms, 15*time.Second),
			able: between(random, 0, 20*time.Second), absent: chance(2), timeout: time.Second, successes: 1}
		if kind == timeline.KindMain {
			if chance(2) {
				c.period = time.Duration(1+random.IntN(15)) * time.Second
				c.timeout = time.Duration(1+random.IntN(3)) * time.Second
				c.successes = 1 + max(random.IntN(6)-3, 0)
				c.delay = time.Duration(max(random.IntN(20)-10, 0)) * time.Second
			}
			if chance(4) {
				c.hook = between(random, 100*ms, 10*time.Second)
			}
			if chance(6) && mains == 1 {
				c.configuredAt = between(random, time.Second, 60*time.Second)
				c.retry = between(random, 10*time.Second, 14*time.Second)
			}
			if chance(6) && mains == 1 {
				c.crashes, c.fails = 1+random.IntN(3), between(random, 50*ms, 5*time.Second)
			}
		}
		if kind == timeline.KindInit && chance(4) {
			c.crashes, c.fails = 1+random.IntN(3), between(random, 50*ms, 5*time.Second)
		}
		if kind != timeline.KindInit && chance(4) {
			c.startup = time.Duration(1+random.IntN(12)) * time.Second
			c.startable = between(random, 0, 20*time.Second)
			c.startupDelay = time.Duration(max(random.IntN(20)-10, 0)) * time.Second
		}
		if c.absent && chance(6) {
			for n := range 1 + random.IntN(3) {
				backoff := 10 * time.Second << n
				c.failedPulls = append(c.failedPulls,
					failedPull{between(random, 0, 300*ms), between(random, backoff, backoff+4*time.Second)})
			}
		}
		if chance(3) {
			for range 1 + random.IntN(3) {
				c.ahead = append(c.ahead, between(random, ms, 30*time.Second))
			}
		}
		pod.containers = append(pod.containers, c)
	}
	for range random.IntN(3) {
		add([]timeline.ContainerKind{timeline.KindInit, timeline.KindSidecar}[random.IntN(2)])
	}
	for range mains {
		add(timeline.KindMain)
	}
	return pod
}

// record turns a simulation into a record. The estimates of all instants are wrong by up to their error bounds.
func (s *simulation) record(pod simulatedPod, random *rand.Rand) api.Record {
	unsure := between(random, 0, []time.Duration{time.Millisecond, 50 * time.Millisecond, time.Second}[random.IntN(3)])
	at := func(d time.Duration) api.Instant { return api.InstantOf(startuptest.After(d)) }
	r := api.Record{State: timeline.StateReady, CreatedAt: at(0), TotalError: api.Seconds(2 * unsure)}
	shift := func() time.Duration { return between(random, -unsure, unsure) }
	created := shift() // the estimate of the creation, relative to the truth
	from, exact := created, time.Duration(0)
	estimates := map[time.Duration]time.Duration{}
	for i, step := range s.steps {
		exact += step.length
		end := max(exact+shift(), from)
		if known, again := estimates[exact]; again {
			end = max(known, from)
		}
		estimates[exact] = end
		p := api.PhaseRecord{Phase: step.phase, Cause: timeline.CauseOf(step.phase), Container: step.container,
			Attempt: step.attempt, StartAt: at(from - created), EndAt: at(end - created),
			Length: api.Seconds(end - from), Error: api.Seconds(2*unsure + max(end-exact-unsure, 0) +
				max(from-exact+step.length-unsure, 0))}
		if step.phase == timeline.PhaseUnattributed {
			p.MergedWith = []timeline.Phase{timeline.PhasePullQueue, timeline.PhasePull}
		}
		if random.IntN(40) == 0 {
			spoil(&p, random)
		}
		if i+1 < len(s.steps) || step.length > 0 {
			r.Phases = append(r.Phases, p)
		}
		from = end
	}
	r.Total = api.Seconds(from - created)
	milestone := func(name, container string, attempt int, exact time.Duration) {
		r.Milestones = append(r.Milestones, api.MilestoneRecord{Milestone: name, Container: container, Attempt: attempt,
			Earliest: at(exact - unsure - created), Latest: at(exact + unsure - created)})
	}
	allReady := time.Duration(0)
	for i := range pod.containers {
		c := &pod.containers[i]
		for attempt, exact := range s.running[c.name] {
			milestone("running", c.name, attempt, exact)
		}
		if ready, known := s.ready[c.name]; known {
			allReady = max(allReady, ready)
			if random.IntN(4) > 0 {
				milestone("container_ready", c.name, len(s.running[c.name])-1, ready)
			}
		}
		r.Pulls = append(r.Pulls, s.pullRecord(c, unsure))
		if c.period > 0 {
			r.Probes = append(r.Probes, api.ProbeRecord{Container: c.name, Kind: timeline.ProbeReadiness,
				InitialDelay: api.Seconds(c.delay), Period: api.Seconds(c.period), Timeout: api.Seconds(c.timeout),
				SuccessThreshold: c.successes})
		}
		if c.startup > 0 {
			r.Probes = append(r.Probes, api.ProbeRecord{Container: c.name, Kind: timeline.ProbeStartup,
				InitialDelay: api.Seconds(c.startupDelay), Period: api.Seconds(c.startup),
				Timeout: api.Seconds(c.timeout), SuccessThreshold: 1})
		}
	}
	if pod.gateAt == 0 {
		milestone("containers_ready", "", 0, s.total)
	}
	return r
}

func (s *simulation) pullRecord(c *simulatedContainer, unsure time.Duration) api.PullRecord {
	p := api.PullRecord{Container: c.name, Kind: c.kind, Image: c.name, Outcome: imagepull.OutcomePresent}
	if c.absent {
		p.Outcome, p.Attempt = imagepull.OutcomeDownloaded, len(c.failedPulls)
		p.Pull, p.Error = new(api.Seconds(c.pull)), new(api.Seconds(unsure))
		if p.PullsAhead = len(c.ahead); p.PullsAhead > 0 {
			p.BlockedBy = &api.BlockerRecord{Image: "other"}
		}
	}
	return p
}

// spoil makes a phase uncertain: its time can then belong to other phases too.
func spoil(p *api.PhaseRecord, random *rand.Rand) {
	p.MergedWith = []timeline.Phase{p.Phase, timeline.PhasePull}
	if random.IntN(2) == 0 {
		p.MergedWith = nil
	}
	p.Phase, p.Cause, p.Container = timeline.PhaseUnattributed, timeline.CauseUnknown, ""
}
