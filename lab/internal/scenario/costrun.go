package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/synthetic"
)

// costRun measures one kind of load.
type costRun struct {
	bench     *bench.Bench
	verdict   *Verdict
	runtime   *synthetic.Runtime
	kind      costKind
	bareWatch *byteCount // bytes that the newest pod watch without an agent received
	delivered byteCount  // bytes that all Event watches without an agent received
	namespace string     // namespace of the synthetic pods
}

// costBlock contains the measured cost of one block: a group of pods that start at a constant rate.
type costBlock struct {
	controlPlane time.Duration // CPU time of the API server and etcd
	agents       agentsUsage
	events       int // number of Events that the synthetic kubelet sent, except Created and Started
}

// runPairs runs pairs of blocks. A block is a group of pods that start at a constant rate. Each pair has one block on
// the node with agents, and one block on the node without agents. Then runPairs judges the cost that the agents add,
// and the agents' requests to the API server. If the load has no agents, runPairs judges only the cost of the bare
// Event watches, and whether these watches receive Events.
func (c *costRun) runPairs(ctx context.Context) (err error) {
	if err := c.bench.Node.StartExtraAgents(ctx, costNode, c.kind.agents); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.bench.Node.StopExtraAgents()) }()
	if err := c.bench.Node.StartFloor(ctx, costNode); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.bench.Node.StopFloor()) }()
	watching, end := context.WithCancel(ctx)
	bareWatches, watching := errgroup.WithContext(watching)
	defer func() { end(); err = errors.Join(err, bareWatches.Wait()) }()
	for range c.kind.counterparts - 1 { // StartFloor has already started one watch
		c.bareWatch = new(byteCount)
		if err := followNode(watching, bareWatches, c.bench, costNode, c.bareWatch); err != nil {
			return err
		}
	}
	if err := awaitAge(ctx, 0); err != nil {
		return err
	}
	// The first block only fills the caches and is not measured.
	if _, err := c.runBlock(ctx, c.blockName(0), costNode); err != nil {
		return err
	}
	before, err := c.countWatches(ctx)
	if err != nil {
		return err
	}
	var differences, without []time.Duration
	var agents agentsUsage
	var events int
	for i := range c.kind.pairs {
		order := []string{costNode, plainNode}
		if i%2 == 1 {
			order = []string{plainNode, costNode}
		}
		blocks := make(map[string]costBlock)
		for j, node := range order {
			if blocks[node], err = c.runBlock(ctx, c.blockName(2*i+j+1), node); err != nil {
				return err
			}
		}
		per := func(d time.Duration) time.Duration { return d / time.Duration(c.kind.pods) }
		differences = append(differences,
			per(blocks[costNode].controlPlane-blocks[plainNode].controlPlane)/time.Duration(c.kind.agentCount()))
		without = append(without, per(blocks[plainNode].controlPlane))
		agents = agents.plus(blocks[costNode].agents)
		events += blocks[costNode].events
	}
	after, err := c.countWatches(ctx)
	if err != nil {
		return err
	}
	cost, load := pair(differences), pair(without)
	c.verdict.Note("%s: without agents, a start costs the API server and etcd %.2f ms of CPU, standard error %.2f; "+
		"one agent or bare watch adds %.3f ms, standard error %.3f, so at most %.3f with 95 %% confidence (%d "+
		"pairs of blocks with %d starts each, %d agents and bare watches; differences of the pairs: %v)",
		c.kind.name(), milliseconds(load.mean), milliseconds(load.standardError), milliseconds(cost.mean),
		milliseconds(cost.standardError),
		milliseconds(cost.atMost()), c.kind.pairs, c.kind.pods, c.kind.agentCount(), differences)
	if c.kind.agents == 0 {
		judgeFloor(c.verdict, c.kind, cost, c.delivered.Load())
		return nil
	}
	judgeCost(c.verdict, c.kind, cost)
	return c.judgeAgents(agents, after.growthSince(before), events)
}

// runBlock starts the pods of one block, and then deletes these pods and their Events.
func (c *costRun) runBlock(ctx context.Context, name, node string) (l costBlock, err error) {
	defer func() { err = errors.Join(err, c.deleteBlock(context.WithoutCancel(ctx))) }()
	watching, end := context.WithCancel(ctx)
	bareWatches, watching := errgroup.WithContext(watching)
	defer func() { end(); err = errors.Join(err, bareWatches.Wait()) }()
	if node == costNode {
		if err := c.openEventWatches(watching, bareWatches); err != nil {
			return l, err
		}
	}
	// The API server might still be deleting the objects of the previous block. The agents also keep a shared Event
	// watch open for some seconds. Because of the pause, the measurement of this block does not include the cost of the
	// previous block.
	const pause = 6 * time.Second
	if err := sleep(ctx, pause); err != nil {
		return l, err
	}
	agents, err := c.agentsUsage(ctx)
	if err != nil {
		return l, err
	}
	before, err := c.bench.Node.ControlPlaneCPU()
	if err != nil {
		return l, err
	}
	begunAt := time.Now()
	started, err := c.createPods(ctx, name, node)
	if err != nil {
		return l, err
	}
	if err := sleep(ctx, c.startAfter(c.kind.pods)+c.kind.tail()-time.Since(begunAt)); err != nil {
		return l, err
	}
	after, err := c.bench.Node.ControlPlaneCPU()
	if err != nil {
		return l, err
	}
	l.controlPlane = after - before
	usage, err := c.agentsUsage(ctx)
	if err != nil {
		return l, err
	}
	l.agents = usage.minus(agents)
	for _, s := range started {
		l.events += s.Events
	}
	if node == costNode {
		err = c.judgeReported(ctx, started)
	}
	return l, err
}

// openEventWatches opens bare Event watches. The goroutines of the group keep these watches open
// until ctx ends.
func (c *costRun) openEventWatches(ctx context.Context, group *errgroup.Group) error {
	for range c.kind.eventWatches {
		err := keepOpen(ctx, group, c.bench, func(ctx context.Context, client *kube.Client, opened func()) error {
			return client.FollowEvents(ctx, c.namespace, c.kind.selector, &c.delivered, opened)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteBlock deletes the pods and the Events of a block.
func (c *costRun) deleteBlock(ctx context.Context) error {
	if err := c.bench.Kube.DeletePods(ctx, c.bench.Node.Report, c.namespace); err != nil {
		return err
	}
	return synthetic.ClearEvents(ctx, c.bench.Kube, c.namespace)
}

// blockName returns the prefix of the names of a block's pods. If the node must pull the images, the images' names also
// contain this prefix. Block 0 is not measured.
func (c *costRun) blockName(number int) string {
	return fmt.Sprintf("%s-%d-%d", c.kind.images(), c.kind.number, number)
}

// startAfter returns the time from the start of a block to the creation of the pod with the given index.
func (c *costRun) startAfter(index int) time.Duration {
	return time.Duration(index) * time.Second / time.Duration(c.kind.rate)
}

// createPods creates the pods at a constant rate, and returns when all pods run.
func (c *costRun) createPods(ctx context.Context, name, node string) ([]synthetic.Started, error) {
	kubelet := synthetic.Kubelet{Kube: c.bench.Kube, Runtime: c.runtime, Node: node, Pace: synthetic.Usual()}
	started := make([]synthetic.Started, c.kind.pods)
	all, together := errgroup.WithContext(ctx)
	begunAt := time.Now()
	for i := range started {
		all.Go(func() error {
			if err := sleep(together, time.Until(begunAt.Add(c.startAfter(i)))); err != nil {
				return err
			}
			images := make([]string, costContainers)
			for j := range images {
				images[j] = fmt.Sprintf("images.invalid/%s/image-%d:1", c.namespace, j+1)
				if c.kind.cold { // each pod has its own images, so the node must pull all of them
					images[j] = fmt.Sprintf("images.invalid/%s/%s/image-%d-%d:1", c.namespace, name, i+1, j+1)
				} else {
					c.runtime.AddImage(images[j])
				}
			}
			var err error
			started[i], err = kubelet.Start(together, c.namespace, fmt.Sprintf("%s-%d", name, i+1), images, c.kind.cold)
			return err
		})
	}
	return started, all.Wait()
}
