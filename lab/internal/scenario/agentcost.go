package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
)

// The load of the scenario "agent-cost". A block is a group of pods that start one per second.
const (
	ownBlocks      = 4   // number of measured blocks for each kind of pod (images on the node, images to pull)
	ownPresentPods = 30  // number of pods in a block if the node already has their images
	ownColdPods    = 10  // number of pods in a block if the node must pull their images
	fullNode       = 110 // the kubelet's default maximum number of pods
	idleMinutes    = 2
	scrapeInterval = 15 * time.Second
)

// The limits that the scenario "agent-cost" checks.
const (
	fullNodeMemory = 45 // MiB of resident memory
	fewSeries      = 1000
	restSeries     = 350
	idleShare      = 0.0015 // of one core
)

// agentCost measures the costs of one agent on the lab's real node. The costs are the CPU time for each pod that
// starts, the memory, the CPU time of an idle agent, and the number of series. The measured agent runs alongside the
// node's own agent. The measured agent has debug profiles and a state directory, and otherwise default settings. At the
// same time, two other programs follow the same pods. The first program is a client-go reflector that only stores the
// pods. The second program also queries the runtime, but sends only the queries that an agent needs to read the
// runtime's timestamps.
func agentCost(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	if err := b.Node.StartExtraAgentsOnNode(ctx, []string{"--records=timeline", "--debug-profiles",
		"--state-dir=" + b.Node.In("agent-cost-state")}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Node.StopExtraAgents()) }()
	defer func() { err = errors.Join(err, b.Node.StopFloor()) }()
	if err := b.Node.StartFloor(ctx, layout.NodeName); err != nil {
		return err
	}
	if err := b.Node.StartRuntimeFloor(ctx, layout.NodeName); err != nil {
		return err
	}
	if err := awaitAge(ctx, 0); err != nil {
		return err
	}
	if err := ownSeries(ctx, b, v, "at rest", restSeries); err != nil {
		return err
	}
	if err := ownStarts(ctx, b, v, "present images", ownPresentPods, func(string) (string, error) {
		return b.BaseImage, nil
	}); err != nil {
		return err
	}
	if err := ownStarts(ctx, b, v, "cold images", ownColdPods, func(name string) (string, error) {
		return b.Image(ctx, name, smallLayer)
	}); err != nil {
		return err
	}
	if err := fillNode(ctx, b, v); err != nil {
		return err
	}
	if err := measureIdleAgent(ctx, b, v); err != nil {
		return err
	}
	return ownSeries(ctx, b, v, "after the starts", fewSeries)
}

// ownUsage contains the resource usage of three programs. The field "agent" is for the extra agent. The field "floor"
// is for a client-go reflector that only stores the pods. The field "runtimeFloor" is for a reflector that also queries
// the runtime.
type ownUsage struct{ agent, floor, runtimeFloor process.Usage }

func usageOf(b *bench.Bench) (u ownUsage, err error) {
	if u.agent, err = b.Node.ExtraUsage(0); err != nil {
		return u, err
	}
	if u.floor, err = b.Node.FloorUsage(); err != nil {
		return u, err
	}
	u.runtimeFloor, err = b.Node.RuntimeFloorUsage()
	return u, err
}

// ownStarts starts several blocks of pods. In each block, one pod starts per second. After each block, ownStarts
// deletes the block's pods. The measured CPU time includes all work of the agent until the agent has reported the
// block's pods. The measured CPU time excludes the deletion of the pods.
func ownStarts(ctx context.Context, b *bench.Bench, v *Verdict, kind string, count int,
	image func(pod string) (string, error)) error {
	var agents, floors, runtimeFloors perStart
	for block := range ownBlocks + 1 {
		names, specs := make([]string, count), make([]corev1.PodSpec, count)
		for i := range count {
			names[i] = fmt.Sprintf("start-%d-%s-%d", block, kind[:4], i+1)
			reference, err := image(names[i])
			if err != nil {
				return err
			}
			specs[i] = corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: reference}},
				TerminationGracePeriodSeconds: new(int64)}
		}
		before, err := usageOf(b)
		if err != nil {
			return err
		}
		for i, name := range names {
			if err := b.CreatePod(ctx, name, specs[i]); err != nil {
				return err
			}
			if err := sleep(ctx, time.Second); err != nil {
				return err
			}
		}
		for _, name := range names {
			if _, err := b.ExtraAgent(0).AwaitSettled(ctx, name); err != nil {
				return err
			}
		}
		after, err := usageOf(b)
		if err != nil {
			return err
		}
		if err := b.Kube.DeletePods(ctx, b.Node.Report, b.Namespace); err != nil {
			return err
		}
		if block > 0 { // ignore the first block, which only fills caches
			agents.add(before.agent, after.agent, count)
			floors.add(before.floor, after.floor, count)
			runtimeFloors.add(before.runtimeFloor, after.runtimeFloor, count)
		}
	}
	agent, floor, runtimeFloor := pair(agents.cpu), pair(floors.cpu), pair(runtimeFloors.cpu)
	v.Compared++
	v.Note("%s, one start per second: the agent %s; a bare client-go reflector %s: the agent uses %.1f times as much; "+
		"a reflector that also queries the runtime %s: the agent uses %.1f times as much", kind,
		agents.text(), floors.text(), float64(agent.mean)/float64(floor.mean), runtimeFloors.text(),
		float64(agent.mean)/float64(runtimeFloor.mean))
	if agent.mean <= floor.mean {
		v.Problem("%s: the agent uses less CPU than a program that only follows the pods: the measurement is wrong",
			kind)
	}
	return nil
}

// perStart is the cost of a program for each pod that starts.
type perStart struct {
	cpu    []time.Duration // average CPU time per start, for each block
	sleeps int64           // sum of process.Usage.Sleeps over all blocks
	starts int64
}

func (p *perStart) add(before, after process.Usage, starts int) {
	p.cpu = append(p.cpu, (after.CPU-before.CPU)/time.Duration(starts))
	p.sleeps += after.Sleeps - before.Sleeps
	p.starts += int64(starts)
}

func (p *perStart) text() string {
	cpu := pair(p.cpu)
	return fmt.Sprintf("%.2f ms of CPU per start (standard error %.2f, %d wake-ups)", milliseconds(cpu.mean),
		milliseconds(cpu.standardError), p.sleeps/p.starts)
}

// fillNode fills the node up to the kubelet's default maximum number of pods, and measures the agent's memory.
func fillNode(ctx context.Context, b *bench.Bench, v *Verdict) error {
	var others corev1.PodList
	if err := b.Kube.Get(ctx, "/api/v1/pods?fieldSelector=spec.nodeName%3D"+layout.NodeName, &others); err != nil {
		return err
	}
	count := int32(fullNode - len(others.Items))
	if _, err := b.CreateDeployment(ctx, "full", count, corev1.PodSpec{
		Containers:                    []corev1.Container{{Name: mainName, Image: b.BaseImage}},
		TerminationGracePeriodSeconds: new(int64)}); err != nil {
		return err
	}
	err := b.Node.Report.Wait(ctx, fmt.Sprintf("%d pods to run", count), 10*time.Minute, time.Second,
		func(ctx context.Context) error {
			running, err := runningPods(ctx, b)
			if err != nil {
				return err
			}
			if running < int(count) {
				return fmt.Errorf("%d of %d pods are running", running, count)
			}
			return nil
		})
	if err != nil {
		return err
	}
	// Wait until the agent has received late Events and has returned unused memory to the kernel.
	if err := sleep(ctx, 20*time.Second); err != nil {
		return err
	}
	used, err := usageOf(b)
	if err != nil {
		return err
	}
	v.Compared++
	v.Note("%d pods: the agent has %v of resident memory (%v without the program's file, peak %v), and a bare "+
		"client-go reflector %v (%v without the program's file)", fullNode, size(used.agent.Memory),
		size(used.agent.Own),
		size(used.agent.Peak), size(used.floor.Memory), size(used.floor.Own))
	if used.agent.Memory > fullNodeMemory<<20 {
		v.Problem("the agent has %v of resident memory with %d pods, want at most %d MiB", size(used.agent.Memory),
			fullNode, fullNodeMemory)
	}
	return nil
}

// measureIdleAgent measures the agent's CPU time while no pod starts. During the measurement, measureIdleAgent scrapes
// the agent's metrics every 15 seconds.
func measureIdleAgent(ctx context.Context, b *bench.Bench, v *Verdict) error {
	before, err := usageOf(b)
	if err != nil {
		return err
	}
	begunAt := time.Now()
	for range idleMinutes * int(time.Minute/scrapeInterval) {
		if err := sleep(ctx, scrapeInterval); err != nil {
			return err
		}
		if _, err := b.Node.Extra(0).Metrics(ctx); err != nil {
			return err
		}
	}
	after, err := usageOf(b)
	if err != nil {
		return err
	}
	share := float64(after.agent.CPU-before.agent.CPU) / float64(time.Since(begunAt))
	v.Compared++
	v.Note("while no pod starts: the agent uses %.3f %% of a core with a scrape every %s, and a bare client-go "+
		"reflector %.3f %% without scrapes", 100*share, scrapeInterval,
		100*float64(after.floor.CPU-before.floor.CPU)/float64(time.Since(begunAt)))
	if share > idleShare {
		v.Problem("the idle agent uses %.3f %% of a core, want at most %.3f %%", 100*share, 100*idleShare)
	}
	return nil
}

// ownSeries counts the series that the agent exposes.
func ownSeries(ctx context.Context, b *bench.Bench, v *Verdict, when string, limit int) error {
	text, err := b.Node.Extra(0).Metrics(ctx)
	if err != nil {
		return err
	}
	count := len(seriesOf(text))
	v.Compared++
	v.Note("series %s: %d", when, count)
	if count == 0 || count > limit {
		v.Problem("the agent exposes %d series %s, want at most %d", count, when, limit)
	}
	return nil
}
