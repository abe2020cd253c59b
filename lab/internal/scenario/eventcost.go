package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
	"github.com/podlapse/podlapse/lab/internal/synthetic"
)

// The load of event-cost: synthetic pods on a node that has no kubelet.
const (
	costPods       = 400
	costContainers = 4
	costRate       = 20 // starts per second
	costNode       = "node-2"
	// After the last start: then the pod is ready, and the agent has heard of it.
	costTail    = 6 * time.Second
	costPause   = 5 * time.Second
	coldCost    = 2 * time.Millisecond // of the API server's CPU per start, at most
	presentCost = 200 * time.Microsecond
)

// eventCost has the same load play without the agent, with it, and without it again, once with cold images and
// once with present ones, and wants the API server's CPU to grow by no more than it may. Each load has a
// namespace of its own: who opens a watch in a namespace pays for all Events there.
func eventCost(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	runtime := synthetic.NewRuntime()
	stop, err := runtime.Serve(b.Node.GuestSocket())
	if err != nil {
		return err
	}
	defer stop()
	if err := synthetic.Register(ctx, b.Kube, costNode); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, synthetic.Unregister(context.WithoutCancel(ctx), b.Kube, costNode)) }()
	beating, stopBeating := context.WithCancel(ctx)
	beat := make(chan error, 1)
	go func() { beat <- synthetic.KeepAlive(beating, b.Kube, costNode) }()
	defer func() { stopBeating(); err = errors.Join(err, <-beat) }()
	c := costRun{bench: b, verdict: v, kubelet: synthetic.Kubelet{Kube: b.Kube, Runtime: runtime, Node: costNode},
		guest: agent.Client{Server: "http://" + layout.Address(layout.GuestPort)}}
	for _, kind := range []struct {
		name   string
		cold   bool
		target time.Duration
	}{{"cold", true, coldCost}, {"present", false, presentCost}} {
		// The first load of a kind finds caches cold; nobody measures it.
		if _, err := c.play(ctx, kind.name+"-0", kind.cold, costPods/4, false); err != nil {
			return err
		}
		var loads [3]load
		for i := range loads {
			withAgent := i == 1
			name := fmt.Sprintf("%s-%d", kind.name, i+1)
			if loads[i], err = c.play(ctx, name, kind.cold, costPods, withAgent); err != nil {
				return err
			}
		}
		c.judge(kind.name, kind.target, loads)
		if served := loads[1].watches.served(); !kind.cold && served > 0 {
			v.Problem("present: the API server served %v Event watches for pods whose images are there", served)
		}
	}
	return nil
}

// costRun is one run of the scenario.
type costRun struct {
	bench   *bench.Bench
	verdict *Verdict
	kubelet synthetic.Kubelet
	guest   agent.Client
}

// load is what one load cost.
type load struct {
	cpu      time.Duration // of the API server
	agentCPU time.Duration
	memory   int64 // bytes of the agent, resident at the end
	watches  watches
	sent     int // Events
}

// play plays one load in a namespace of its own, which is gone when it returns.
func (c costRun) play(ctx context.Context, name string, cold bool, pods int, withAgent bool) (l load, err error) {
	namespace := c.bench.Namespace + "-" + name
	if err := c.bench.Kube.CreateNamespace(ctx, c.bench.Node.Report, namespace, purpose); err != nil {
		return l, err
	}
	defer func() {
		removal := c.bench.Kube.DeleteNamespace(context.WithoutCancel(ctx), c.bench.Node.Report, namespace)
		err = errors.Join(err, removal)
	}()
	if withAgent {
		if err := c.startGuest(ctx); err != nil {
			return l, err
		}
		defer func() { err = errors.Join(err, c.bench.Node.StopGuest()) }()
	}
	// What deleting the load before has left to do is not this one's.
	if err := sleep(ctx, costPause); err != nil {
		return l, err
	}
	var own process.Usage
	if withAgent {
		if own, err = c.bench.Node.GuestUsage(); err != nil {
			return l, err
		}
		// Before the API server's usage is read: its metrics are long.
		if l.watches, err = countWatches(ctx, c.bench, c.guest); err != nil {
			return l, err
		}
	}
	before, err := c.bench.Node.APIServerUsage()
	if err != nil {
		return l, err
	}
	begunAt := time.Now()
	started, err := c.start(ctx, namespace, cold, pods)
	if err != nil {
		return l, err
	}
	if err := sleep(ctx, time.Duration(pods)*time.Second/costRate+costTail-time.Since(begunAt)); err != nil {
		return l, err
	}
	after, err := c.bench.Node.APIServerUsage()
	if err != nil {
		return l, err
	}
	l.cpu = after.CPU - before.CPU
	for _, s := range started {
		l.sent += s.Events
	}
	if withAgent {
		err = c.account(ctx, namespace, started, own, &l)
	}
	return l, err
}

// start starts the pods at their rate and returns when the last one runs.
func (c costRun) start(ctx context.Context, namespace string, cold bool, pods int) ([]synthetic.Started, error) {
	started := make([]synthetic.Started, pods)
	all, together := errgroup.WithContext(ctx)
	begunAt := time.Now()
	for i := range pods {
		all.Go(func() error {
			if err := sleep(together, time.Until(begunAt.Add(time.Duration(i)*time.Second/costRate))); err != nil {
				return err
			}
			images := make([]string, costContainers)
			for j := range images {
				images[j] = fmt.Sprintf("images.invalid/%s/image-%d:1", namespace, j+1)
				if cold { // its own, which nobody has pulled for it
					images[j] = fmt.Sprintf("images.invalid/%s/image-%d-%d:1", namespace, i+1, j+1)
				} else {
					c.kubelet.Runtime.AddImage(images[j])
				}
			}
			var err error
			started[i], err = c.kubelet.Start(together, namespace, fmt.Sprintf("pod-%d", i+1), images, cold)
			return err
		})
	}
	return started, all.Wait()
}

// startGuest starts the agent for the node, and waits until it takes what arrives for news.
func (c costRun) startGuest(ctx context.Context) error {
	const settling = 5 * time.Second
	if err := c.bench.Node.StartGuest(ctx, costNode); err != nil {
		return err
	}
	return sleep(ctx, settling)
}

// account reads what the agent used and what it told.
func (c costRun) account(ctx context.Context, namespace string, started []synthetic.Started, before process.Usage, l *load) error {
	usage, err := c.bench.Node.GuestUsage()
	if err != nil {
		return err
	}
	l.agentCPU, l.memory = usage.CPU-before.CPU, usage.Memory
	counted, err := countWatches(ctx, c.bench, c.guest)
	if err != nil {
		return err
	}
	l.watches = counted.minus(l.watches)
	var told map[string]agent.Timeline
	// Who misses an Event waits for it.
	err = c.bench.Node.Report.Wait(ctx, "the records of "+namespace, 40*time.Second, 500*time.Millisecond, func(context.Context) error {
		records, err := agent.ReadRecords(c.bench.Node.GuestRecords(), namespace)
		if err != nil {
			return err
		}
		told = make(map[string]agent.Timeline)
		for _, timeline := range records.Timelines {
			told[timeline.Name] = timeline
		}
		if len(told) < len(started) {
			return fmt.Errorf("%d of %d pods are told of", len(told), len(started))
		}
		return nil
	})
	if err != nil {
		c.verdict.Problem("%v", err)
	}
	for _, s := range started {
		before := len(c.verdict.Problems)
		if c.judgePod(s, told); len(c.verdict.Problems) > before && told[s.Name].Raw != nil {
			if err := keep(c.bench, told[s.Name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// judgePod wants every pull of a pod told and timed: that takes all Events about it.
func (c costRun) judgePod(s synthetic.Started, told map[string]agent.Timeline) {
	v := c.verdict
	v.Compared++
	timeline, there := told[s.Name]
	if !there {
		return // said already
	}
	want := agent.Downloaded
	if s.Pulls == nil {
		want = agent.Present
	}
	for i := range costContainers {
		container := fmt.Sprintf("c%d", i+1)
		pull, there := timeline.PullOf(container)
		if !there || pull.Outcome != want {
			v.Problem("%s %s: the outcome is %s, the agent says %q", s.Name, container, want, pull.Outcome)
			continue
		}
		if s.Pulls == nil {
			continue
		}
		length, err := agent.Nanoseconds(pull.PullSeconds)
		if off := length - s.Pulls[i]; err != nil || off.Abs() > exact {
			v.Problem("%s %s: the pull took %s, the agent says %q", s.Name, container, seconds(s.Pulls[i]), pull.PullSeconds)
		}
	}
	if len(timeline.LostEvents) > 0 {
		v.Problem("%s: no Event was lost, the agent says %q", s.Name, timeline.LostEvents)
	}
}

// judge compares the load with the agent with the two without.
func (c costRun) judge(kind string, target time.Duration, loads [3]load) {
	v := c.verdict
	per := func(d time.Duration) time.Duration { return d / costPods }
	without, noise := (loads[0].cpu+loads[2].cpu)/2, (loads[0].cpu-loads[2].cpu).Abs()/2
	cost := per(loads[1].cpu - without)
	v.Compared++
	v.Note("%s: the API server used %.2f, %.2f and %.2f ms of CPU per start without, with and without the agent, which cost it %.2f ms, give or take %.2f",
		kind, milliseconds(per(loads[0].cpu)), milliseconds(per(loads[1].cpu)), milliseconds(per(loads[2].cpu)), milliseconds(cost), milliseconds(per(noise)))
	v.Note("%s: the agent itself used %.2f ms per start, and %d MiB; it opened %v Event watches (%v by the API server) for %.1f s, and received %v of %d Events, of which it used %v",
		kind, milliseconds(per(loads[1].agentCPU)), loads[1].memory>>20, loads[1].watches.opened, loads[1].watches.served(), loads[1].watches.openSeconds,
		loads[1].watches.received, loads[1].sent, loads[1].watches.itUsed)
	const tooNoisy = coldCost / 2
	switch {
	case per(noise) > tooNoisy:
		v.Problem("%s: two loads without the agent differ by %.2f ms per start: something else keeps the machine busy, run the scenario alone",
			kind, 2*milliseconds(per(noise)))
	case cost-per(noise) > target:
		v.Problem("%s: the agent costs the API server more than %.2f ms per start", kind, milliseconds(target))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
