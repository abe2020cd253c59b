package scenario

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/synthetic"
)

// The load of event-cost: blocks of synthetic pods on two nodes without a kubelet.
const (
	costNode       = "node-2" // with agents
	plainNode      = "node-3" // without agents
	costContainers = 4
	costRate       = 20 // starts per second
)

// costKind is a kind of load and how its cost is measured.
type costKind struct {
	name         string
	cold         bool
	pods         int // in a block
	agents       int // at once
	counterparts int // bare pod watches, in addition to those of the agents
	pairs        int // of blocks, one on each node
	// The time after the last pod was created until it is ready and its Events have been read.
	tail   time.Duration
	target time.Duration // the most CPU of the API server for each start and agent
}

// times is how many times the cost of one agent is in a block on costNode.
func (k costKind) times() int { return k.agents + k.counterparts }

// costKinds returns the loads, which are measured separately.
//
// A start costs the API server about 35 ms of CPU without agents. This varies by 3 ms from block to block, mostly
// because of garbage collection, so smaller costs only show if they occur many times. An agent whose pods' images are
// present sends no requests besides its pod watch. The scenario checks this: the agent's request counter must not grow
// while pods start, and the API server counts its Event watches. So such an agent costs as much as its pod watch, and
// there are 60 of these: one of an agent and 59 bare ones with the same request. More agents would use the same two
// cores and slow the API server down. A bare watch must receive the same bytes as the agent. With cold images, agents
// open Event watches as needed, so all 60 are agents.
func costKinds() []costKind {
	return []costKind{
		{name: "present", pods: 100, agents: 1, counterparts: 59, pairs: 6, tail: 2 * time.Second,
			target: 200 * time.Microsecond},
		{name: "cold", cold: true, pods: 200, agents: 4, pairs: 5, tail: 4 * time.Second, target: 2 * time.Millisecond},
	}
}

// eventCost runs blocks with the same load alternately on a node with agents and on a node without, in the order ABBA.
// The difference within a pair of neighbors is the cost of the agents, and drift cancels out. Everything else is the
// same in both: the agents run all the time, so their cost while none of their pods starts is not in the difference. A
// kubelet also watches its node's pods, and the API server encodes a change once for all equal watches, so both nodes
// have that watch. Each block has its own namespace, because a watch on a namespace receives all Events in it.
func eventCost(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	runtime := synthetic.NewRuntime()
	stop, err := runtime.Serve(b.Node.ExtraSocket())
	if err != nil {
		return err
	}
	defer stop()
	living, end := context.WithCancel(ctx)
	alive, living := errgroup.WithContext(living)
	defer func() { end(); err = errors.Join(err, alive.Wait()) }()
	for _, node := range []string{costNode, plainNode} {
		if err := synthetic.Register(ctx, b.Kube, node); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, synthetic.Unregister(context.WithoutCancel(ctx), b.Kube, node)) }()
		alive.Go(func() error { return synthetic.KeepAlive(living, b.Kube, node) })
		if err := followNode(living, alive, b, node, io.Discard); err != nil { // in place of its kubelet
			return err
		}
	}
	for _, kind := range costKinds() {
		c := costRun{bench: b, verdict: v, runtime: runtime, kind: kind, bareWatch: new(byteCount)}
		if err := c.measure(living); err != nil {
			return err
		}
	}
	return nil
}

// followNode opens a watch on a node's pods over its own connection, like every kubelet and agent. The group keeps it
// open until ctx ends.
func followNode(ctx context.Context, group *errgroup.Group, b *bench.Bench, node string, into io.Writer) error {
	client, err := b.Node.Kube()
	if err != nil {
		return err
	}
	opened := make(chan struct{}, 1) // only the first opening is awaited
	group.Go(func() error {
		defer client.Close()
		return client.FollowNode(ctx, node, into, func() {
			select {
			case opened <- struct{}{}:
			default:
			}
		})
	})
	select {
	case <-opened:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// byteCount counts what is written to it.
type byteCount struct{ atomic.Int64 }

// Write implements io.Writer.
func (c *byteCount) Write(p []byte) (int, error) {
	c.Add(int64(len(p)))
	return len(p), nil
}

// judgeCost requires that the cost is below the target with confidence. An inconclusive measurement is not a proof.
func judgeCost(v *Verdict, kind costKind, cost paired[time.Duration]) {
	v.Compared++
	switch {
	case cost.mean > kind.target:
		v.Problem("%s: an agent costs the API server %.3f ms per start, more than %.1f", kind.name,
			milliseconds(cost.mean), milliseconds(kind.target))
	case cost.atMost() > kind.target:
		v.Problem("%s: an agent costs the API server %.3f ms per start, but the blocks vary too much to prove less "+
			"than %.1f: run the scenario alone",
			kind.name, milliseconds(cost.mean), milliseconds(kind.target))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
