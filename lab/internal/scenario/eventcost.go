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

// The load of event-cost: blocks of synthetic pods on two nodes that have no kubelet.
const (
	costNode       = "node-2" // agents are there for it
	plainNode      = "node-3" // no agent is
	costContainers = 4
	costRate       = 20 // starts per second
)

// costKind is a kind of load, and how its cost is measured.
type costKind struct {
	name         string
	cold         bool
	pods         int // of a block
	agents       int // at once
	counterparts int // bare pod watches, beside those of the agents
	pairs        int // of blocks, one on each node
	// After the last pod was created: by then it is ready, and its Events are read.
	tail   time.Duration
	target time.Duration // of the API server's CPU per start and agent, at most
}

// times is how often a block on costNode pays for what one agent costs.
func (k costKind) times() int { return k.agents + k.counterparts }

// costKinds are measured apart.
//
// A start costs the API server some 35 ms of CPU whoever watches, and that varies by 3 ms from block to block, with its
// garbage collection above all. Less than that shows only if it is there many times. An agent whose pods' images
// are present asks the API server for nothing but its one pod watch: the agent counts its requests, which have to be none
// while pods start, and the API server the Event watches it serves. So what it costs is the pod watch, and that is
// there 60 times: once the agent's and 59 times the same request without an agent, whose work on the same two cores would
// slow the API server down as none on its own node would. A twin has to be sent the same bytes as the agent. Cold images
// make agents open Event watches, as they see fit, so there they are all agents.
func costKinds() []costKind {
	return []costKind{
		{name: "present", pods: 100, agents: 1, counterparts: 59, pairs: 6, tail: 2 * time.Second, target: 200 * time.Microsecond},
		{name: "cold", cold: true, pods: 200, agents: 4, pairs: 5, tail: 4 * time.Second, target: 2 * time.Millisecond},
	}
}

// eventCost has blocks of the same load play in turn on a node that agents watch and on one that none does, in the
// order ABBA: what differs in a pair of neighbors is what the agents cost, and what drifts cancels. Everything else is
// the same in both, the agents run all the time: what they cost while no pod of theirs starts is not in the difference. A
// node has a kubelet, which watches its pods, too, and the API server encodes a change once for all who watch alike:
// so both nodes have that watch. Each block has a namespace of its own: who opens a watch in a namespace pays
// for all Events there.
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
		if err := followNode(living, alive, b, node, io.Discard); err != nil { // as its kubelet
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

// followNode opens a watch on a node's pods over a connection of its own, as every kubelet and agent has one. The group
// keeps it until ctx ends.
func followNode(ctx context.Context, group *errgroup.Group, b *bench.Bench, node string, into io.Writer) error {
	client, err := b.Node.Kube()
	if err != nil {
		return err
	}
	opened := make(chan struct{}, 1) // the first time is waited for
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

// judgeCost wants the cost to be below the target for sure: a measurement that cannot tell is no proof.
func judgeCost(v *Verdict, kind costKind, cost paired[time.Duration]) {
	v.Compared++
	switch {
	case cost.mean > kind.target:
		v.Problem("%s: an agent costs the API server %.3f ms per start, more than %.1f", kind.name, milliseconds(cost.mean), milliseconds(kind.target))
	case cost.atMost() > kind.target:
		v.Problem("%s: an agent costs the API server %.3f ms per start, but the blocks differ too much to be sure that it is less than %.1f: run the scenario alone",
			kind.name, milliseconds(cost.mean), milliseconds(kind.target))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
