package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// smallLayer is the size of the layer that each pod downloads. smallRate is the download rate of throttled images. The
// layer is small, so unpacking takes only a small part of the pull.
const (
	smallLayer = 512 << 10 // bytes
	smallRate  = 256 << 10 // bytes per second
)

func (p plan) pullTime() time.Duration {
	if !p.throttled {
		return 0
	}
	return smallLayer / smallRate * time.Second
}

// For each fault, the scenario "accuracy" starts two pods with only this fault. Two more pods have all faults together.
// The agent's duration of every phase of every pod must be accurate, including the phases without a fault. On a busy
// machine, tasks wait for CPU or I/O. If tasks waited near the start or the end of a phase, the scenario accepts a
// larger difference from the truth.
func accuracy(ctx context.Context, b *bench.Bench, v *Verdict) error {
	plans := accuracyPlans()
	images, err := coldImages(ctx, b, plans)
	if err != nil {
		return err
	}
	if err := injectInto(ctx, b, plans); err != nil {
		return err
	}
	if err := awaitAgentAge(ctx, b); err != nil {
		return err
	}
	busy, err := sampleWaits()
	if err != nil {
		return err
	}
	defer busy.stop()
	arrivals, stop := b.Watch(ctx)
	timelines, truths := make([]agent.Timeline, len(plans)), make([]knownStartUp, len(plans))
	// Run one pod at a time. On a small machine, two concurrent pods would disturb each other's measurements.
	for i, p := range plans {
		if timelines[i], truths[i], err = p.runAndMeasure(ctx, b, arrivals, images[i]); err != nil {
			return err
		}
	}
	if err := stop(); err != nil {
		return err
	}
	busy.stop()
	t := tally{discards: !b.Node.Stack.Containerd.KeepsLayers(), waits: busy,
		lateHooks: b.Node.Stack.Kubernetes.ReportsHooksLate()}
	for i, timeline := range timelines {
		t.addTimeline(timeline, truths[i])
		v.Contract(timeline)
	}
	t.judgeExactness(v)
	return nil
}

// accuracyPlans returns the plans of 20 pods.
func accuracyPlans() []plan {
	const (
		length = 2 * time.Second
		// shortRun is the shortest run time of an init container. The runtime needs this time to record the container's
		// start before the container exits. Without this record, no source shows when the container ran.
		shortRun = 300 * time.Millisecond
	)
	faults := []struct {
		name   string
		inject func(*plan)
	}{
		{"network", func(p *plan) { p.networkDelay = length }},
		{"init", func(p *plan) { p.initRun += length }},
		{"startup", func(p *plan) { p.startedAfter, p.readyAfter = length, p.readyAfter+length }},
		{"readiness", func(p *plan) { p.readyAfter += length }},
		{"held", func(p *plan) { p.heldFor = length }},
		{"secret", func(p *plan) { p.secretAfter = length }},
		{"hook", func(p *plan) { p.hookFor = length }},
		{"gate", func(p *plan) { p.approvedLate = length }},
		{"pull", func(p *plan) { p.throttled = true }},
	}
	var plans []plan
	for i := range 2 {
		all := plan{name: fmt.Sprintf("all-%d", i+1), initRun: shortRun}
		for _, fault := range faults {
			fault.inject(&all)
		}
		plans = append(plans, all)
		for _, fault := range faults {
			p := plan{name: fmt.Sprintf("%s-%d", fault.name, i+1), initRun: shortRun, hookInMain: i == 1}
			fault.inject(&p)
			plans = append(plans, p)
		}
	}
	return plans
}

// coldImages pushes one image for each pod. The node does not have these images yet.
func coldImages(ctx context.Context, b *bench.Bench, plans []plan) ([]string, error) {
	images := make([]string, len(plans))
	for i, p := range plans {
		var err error
		if images[i], err = b.Image(ctx, p.name, smallLayer); err != nil {
			return nil, err
		}
	}
	return images, nil
}

// injectInto delays the network set-up of some pods, and throttles the image pulls of some pods. The plans select these
// pods.
func injectInto(ctx context.Context, b *bench.Bench, plans []plan) error {
	var slow, throttled []string
	var delay time.Duration
	for _, p := range plans {
		if p.networkDelay > 0 {
			slow, delay = append(slow, p.name), p.networkDelay
		}
		if p.throttled {
			throttled = append(throttled, p.name)
		}
	}
	if err := b.DelayNetwork(delay, slow...); err != nil {
		return err
	}
	return b.ThrottleImages(ctx, smallRate, throttled...)
}

// runAndMeasure runs the plan and returns the agent's timeline and the true times. At the end, runAndMeasure deletes
// the pod, because the pod's probes would keep the machine busy.
func (p plan) runAndMeasure(ctx context.Context, b *bench.Bench, arrivals *bench.Arrivals,
	image string) (agent.Timeline, knownStartUp, error) {
	c, err := p.carryOut(ctx, b, arrivals, image)
	if err != nil {
		return agent.Timeline{}, knownStartUp{}, err
	}
	timeline, err := b.AwaitSettled(ctx, p.name)
	if err != nil {
		return agent.Timeline{}, knownStartUp{}, err
	}
	if err := saveTimeline(b, timeline); err != nil {
		return agent.Timeline{}, knownStartUp{}, err
	}
	k, err := p.collectTruth(ctx, b, arrivals.Of(p.name), c)
	if err != nil {
		return agent.Timeline{}, knownStartUp{}, err
	}
	return timeline, k, b.DeletePod(ctx, p.name)
}
