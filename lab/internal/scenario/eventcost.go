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
	costNode       = "node-2" // name of the node with agents
	plainNode      = "node-3" // name of the node without agents
	costContainers = 4
	costRate       = 20 // starts per second
)

// costKind is a kind of load, with the parameters of its measurement.
type costKind struct {
	name         string
	cold         bool
	pods         int // number of pods in one block
	agents       int // number of agents that run at the same time
	counterparts int // number of bare pod watches in addition to the agents' pod watches
	pairs        int // number of pairs of blocks; each pair has one block on each node
	// tail is the time from the creation of the last pod until the pod is ready and the agents have read the pod's
	// Events.
	tail   time.Duration
	target time.Duration // largest allowed CPU time of the API server for each start and agent
}

// agentCount returns the number of agents and bare watches on costNode. A bare watch costs as much as an agent.
func (k costKind) agentCount() int { return k.agents + k.counterparts }

// costKinds returns the loads. The scenario measures each load separately.
//
// Without agents, a start costs the API server about 35 ms of CPU. This cost varies by 3 ms from block to block, mostly
// because of garbage collection. A small cost is only visible if the cost occurs many times.
//
// If a pod's images are present, the pod watch is the only request of an agent. The scenario verifies this claim with
// two counters: the agent's counter of requests, and the API server's counter of Event watches. These counters must not
// grow while pods start. An agent without other requests therefore costs as much as its pod watch. The load "present"
// has 60 pod watches: one watch of an agent and 59 bare watches with the same request. More agents would use the same
// two cores and slow down the API server. A bare watch must receive as many bytes as the agent's watch. With cold
// images, the agents also open Event watches when they need Events, so bare watches cannot replace agents.
func costKinds() []costKind {
	return []costKind{
		{name: "present", pods: 100, agents: 1, counterparts: 59, pairs: 6, tail: 2 * time.Second,
			target: 200 * time.Microsecond},
		{name: "cold", cold: true, pods: 200, agents: 4, pairs: 5, tail: 4 * time.Second, target: 2 * time.Millisecond},
	}
}

// eventCost runs blocks with the same load alternately on a node with agents and on a node without agents, in the order
// ABBA. The difference within a pair of neighboring blocks is the cost of the agents. With the order ABBA, a slow drift
// of the cost has no effect on the result.
//
// The agents run during all blocks, so the difference excludes the cost of an idle agent. A kubelet also watches the
// pods of its node. The API server encodes a change once for all watches with the same parameters. The scenario
// therefore opens a watch like the kubelet's watch for both nodes. Each block has its own namespace, because a watch on
// a namespace receives all Events in the namespace.
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
		// this watch replaces the watch of a kubelet
		if err := followNode(living, alive, b, node, io.Discard); err != nil {
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

// followNode opens a watch on a node's pods over a separate connection, as every kubelet and agent does. The group
// keeps the watch open until ctx ends.
func followNode(ctx context.Context, group *errgroup.Group, b *bench.Bench, node string, into io.Writer) error {
	client, err := b.Node.Kube()
	if err != nil {
		return err
	}
	opened := make(chan struct{}, 1) // the caller waits only until the watch is open for the first time
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

// byteCount is a writer that counts the bytes.
type byteCount struct{ atomic.Int64 }

// Write implements io.Writer.
func (c *byteCount) Write(p []byte) (int, error) {
	c.Add(int64(len(p)))
	return len(p), nil
}

// judgeCost requires, with 95 % confidence, that the cost is below the target. An inconclusive measurement is also a
// problem.
func judgeCost(v *Verdict, kind costKind, cost pairedDifferences[time.Duration]) {
	v.Compared++
	switch {
	case cost.mean > kind.target:
		v.Problem("%s: an agent costs the API server %.3f ms per start, want at most %.1f", kind.name,
			milliseconds(cost.mean), milliseconds(kind.target))
	case cost.atMost() > kind.target:
		v.Problem("%s: an agent costs the API server %.3f ms per start, but the blocks vary too much to prove a "+
			"cost of less "+
			"than %.1f: run the scenario alone",
			kind.name, milliseconds(cost.mean), milliseconds(kind.target))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
