package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/synthetic"
)

// The scenario "event-cost" starts synthetic pods on two nodes that have no kubelet.
const (
	costNode       = "node-2" // name of the node with agents
	plainNode      = "node-3" // name of the node without agents
	costContainers = 4
	// noEvent is a field selector that matches no Event.
	noEvent = "reason=podlapse-no-reason"
	// agentsEvents is the field selector of an agent's watch on a namespace.
	agentsEvents = "source=kubelet,reason!=Created,reason!=Started"
)

// costVariable is the name of an environment variable. The variable selects the loads that the scenario "event-cost"
// measures. The values are "quick", "floor" and "whole". An empty value means "whole". To repeat some loads of "whole",
// the value can also be a list of their numbers, for example "3,12".
const costVariable = "PODLAPSE_EVENT_COST"

// costKind is a kind of load, with the parameters of its measurement.
type costKind struct {
	number  int // number of the load, counted from 1; a part of the names of the pods
	cold    bool
	rate    int // starts per second
	earlier int // number of Events in the namespace before the load
	pods    int // number of pods in one block: a group of pods that start at a constant rate
	agents  int // number of agents that run at the same time
	// counterparts is the number of bare pod watches. A bare pod watch is a pod watch without an agent. The program
	// that StartFloor starts opens one of these watches.
	counterparts int
	// eventWatches is the number of bare Event watches. A bare Event watch is a watch on the namespace's Events without
	// an agent. If eventWatches is not 0, the load has no agents. If counterparts is also not 0, the two numbers are
	// equal. In this case, one pod watch and one Event watch together count as one agent.
	eventWatches int
	selector     string // field selector of the bare Event watches
	pairs        int    // number of pairs of blocks; each pair has one block on each node
	// If quick is true, the load fails only if the measurement proves a cost above the target. A quick load has too few
	// pairs to prove a cost below the target.
	quick bool
}

// images returns "present" if the images are already on the node, and "cold" if the node must pull the images.
func (k costKind) images() string {
	if k.cold {
		return "cold"
	}
	return "present"
}

// name returns a description of the load for the verdict.
func (k costKind) name() string {
	name := fmt.Sprintf("load %d: %s images, %d starts/s, %d earlier Events", k.number, k.images(), k.rate, k.earlier)
	if k.eventWatches > 0 {
		name += fmt.Sprintf(", instead of agents bare Event watches with the selector %s", k.selector)
		if k.counterparts > 0 {
			name += ", each with a bare pod watch"
		}
	}
	return name
}

// tail returns how long a block continues after the creation of its last pod. During this time, the pod becomes ready,
// and the agents read the pod's Events.
func (k costKind) tail() time.Duration {
	if k.cold {
		return 4 * time.Second
	}
	return 2 * time.Second
}

// target returns the maximum CPU time that one agent may cost the API server and etcd for one pod start.
func (k costKind) target() time.Duration {
	if k.cold {
		return 2 * time.Millisecond
	}
	return 200 * time.Microsecond
}

// agentCount returns the number by which the scenario divides the measured cost: the number of agents plus the number
// of bare watches. A bare pod watch and a bare Event watch together count as one watch. If counterparts is 0, the
// measured cost includes the pod watch of StartFloor's program, but agentCount does not count this watch.
func (k costKind) agentCount() int { return k.agents + max(k.counterparts, k.eventWatches) }

// costKinds returns the loads that the value of costVariable selects. The scenario measures each load separately.
//
// Without agents, a pod start costs the API server and etcd some 50 ms of CPU time at 20 starts per second. The cost of
// a start varies by several percent from block to block, mostly because of garbage collection. So the scenario can
// measure a small cost only if this cost occurs many times.
//
// A bare pod watch is a pod watch without an agent. If the node already has a pod's images, an agent sends no request
// except its pod watch, and costs as much as one bare pod watch. While pods start, the agent's counter of requests and
// the API server's counter of Event watches must not change. If these two counters do not change, the agent sends no
// request except its pod watch. For these loads, the scenario runs one agent, and 59 or 119 bare pod watches with the
// same request as the agent's pod watch. More agents would slow down the API server, because they share its two cores.
// The agent's pod watch and the newest bare pod watch must receive the same number of bytes, except for bookmarks.
//
// If the node must pull images, the agents also open Event watches. Bare pod watches cost less than agents with Event
// watches, and cannot replace such agents.
//
// At 2 starts per second, the machine has enough CPU for more agents and watches than at 20 starts per second. With
// more agents and watches, the measured cost per agent is more exact.
//
// A bare Event watch is an Event watch without an agent. For each Event watch, etcd sends every new Event of the
// namespace to the API server. The API server decodes the Event before it applies the field selector. Therefore, each
// Event watch has a cost, even if the watch delivers nothing. If a program keeps an Event watch open while pods pull
// images, the cost of this program is at least the cost of a bare Event watch that delivers nothing.
//
// A bare Event watch with an agent's field selector delivers the same Events as an agent's watch on the namespace. If a
// pod pulls images, an agent needs at least a pod watch and such an Event watch. With the value "floor", the scenario
// measures three loads: agents, bare Event watches that deliver nothing, and pairs of watches. Each pair has a bare pod
// watch and a bare Event watch. There are as many pairs as agents.
func costKinds(form string) ([]costKind, error) {
	const pulling = 16 // number of agents, for pods that pull images at 2 starts per second
	agents := func(earlier int) costKind {
		kind := costKind{cold: true, rate: 2, earlier: earlier, pods: 60, agents: pulling, pairs: 5}
		if earlier == 50_000 {
			kind.pairs = 10 // with so many Events, the cost of a block varies more
		}
		return kind
	}
	bare := costKind{cold: true, rate: 2, earlier: 10_000, pods: 60, eventWatches: 40, selector: noEvent, pairs: 5}
	needed := costKind{cold: true, rate: 2, earlier: 10_000, pods: 60, counterparts: pulling, eventWatches: pulling,
		selector: agentsEvents, pairs: 5}
	var whole []costKind
	for _, earlier := range []int{0, 10_000, 50_000} {
		whole = append(whole,
			costKind{rate: 20, earlier: earlier, pods: 100, agents: 1, counterparts: 59, pairs: 6},
			costKind{cold: true, rate: 20, earlier: earlier, pods: 200, agents: 4, pairs: 5},
			costKind{rate: 2, earlier: earlier, pods: 40, agents: 1, counterparts: 119, pairs: 5},
			agents(earlier))
		if earlier == bare.earlier {
			// Both kinds need the earlier Events of this step, which the API server deletes after an hour.
			whole = append(whole, bare, needed)
		}
	}
	switch form {
	case "floor":
		return numbered([]costKind{bare, needed, agents(10_000)}), nil
	case "quick":
		return numbered([]costKind{
			{rate: 20, pods: 100, agents: 1, counterparts: 59, pairs: 3, quick: true},
			{cold: true, rate: 8, earlier: 10_000, pods: 70, agents: 12, pairs: 4, quick: true},
		}), nil
	case "", "whole":
		return numbered(whole), nil
	}
	return selectKinds(numbered(whole), form)
}

func numbered(kinds []costKind) []costKind {
	for i := range kinds {
		kinds[i].number = i + 1
	}
	return kinds
}

// selectKinds returns the loads with the given numbers. The numbers are separated by commas.
func selectKinds(all []costKind, numbers string) (selected []costKind, err error) {
	for text := range strings.SplitSeq(numbers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > len(all) || slices.Contains(selected, all[n-1]) {
			return nil, fmt.Errorf("%s=%q: must be \"quick\", \"floor\", \"whole\", or the numbers of some loads, "+
				"from 1 to %d and each at most once, for example \"3,12\"", costVariable, numbers, len(all))
		}
		selected = append(selected, all[n-1])
	}
	return selected, nil
}

// eventCost measures each load in pairs of blocks: block A on the node with agents, and block B on the node without
// agents. A block is a group of pods that start at a constant rate. The difference between the two blocks of a pair
// is the cost of the agents. The order within a pair changes from pair to pair (AB, BA, AB), so a slow drift of the
// cost has no effect on the result.
//
// The agents run during all blocks, so the difference between two blocks excludes the cost of an idle agent. On a real
// node, the kubelet also watches the pods of the node. The API server encodes a change only once for all watches with
// the same parameters. The two nodes of the scenario have no kubelet, so the scenario opens one watch for each node,
// with the same parameters as a kubelet's watch. Loads with the same number of earlier Events use the same namespace.
// After each block, the scenario deletes the Events of the block.
func eventCost(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	kinds, err := costKinds(os.Getenv(costVariable))
	if err != nil {
		return err
	}
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
		leave, failed := synthetic.Join(ctx, b.Kube, node)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, leave()) }()
		// this watch replaces the pod watch of a real node's kubelet
		if err := followNode(living, alive, b, node, io.Discard); err != nil {
			return err
		}
	}
	namespaces := map[int]string{} // maps the number of earlier Events to the name of the namespace
	for _, kind := range kinds {
		if namespaces[kind.earlier] == "" {
			namespace, remove, failed := busyNamespace(living, b, kind.earlier)
			if failed != nil {
				return failed
			}
			defer func() { err = errors.Join(err, remove()) }()
			namespaces[kind.earlier] = namespace
		}
		c := costRun{bench: b, verdict: v, runtime: runtime, kind: kind, bareWatch: new(byteCount),
			namespace: namespaces[kind.earlier]}
		if err := c.runPairs(living); err != nil {
			return err
		}
	}
	return nil
}

// busyNamespace creates a namespace with Events about pods of other nodes. The returned function deletes the namespace.
func busyNamespace(ctx context.Context, b *bench.Bench, earlier int) (name string, remove func() error, err error) {
	name = fmt.Sprintf("%s-%d", b.Namespace, earlier)
	remove = func() error {
		ctx := context.WithoutCancel(ctx)
		return errors.Join(synthetic.RemoveEarlierEvents(ctx, b.Kube, name),
			b.Kube.DeleteNamespace(ctx, b.Node.Report, name))
	}
	if err := b.Kube.CreateNamespace(ctx, b.Node.Report, name, purpose); err != nil {
		return "", nil, err
	}
	if err := synthetic.AddEarlierEvents(ctx, b.Kube, name, earlier); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return name, remove, nil
}

// followNode opens a watch on a node's pods over a separate connection, as every kubelet and agent does. A goroutine of
// the group keeps the watch open until ctx ends.
func followNode(ctx context.Context, group *errgroup.Group, b *bench.Bench, node string, into io.Writer) error {
	return keepOpen(ctx, group, b, func(ctx context.Context, client *kube.Client, opened func()) error {
		return client.FollowNode(ctx, node, into, opened)
	})
}

// keepOpen opens a watch over a separate connection and waits until the watch is open. A goroutine of the group keeps
// the watch open until ctx ends.
func keepOpen(ctx context.Context, group *errgroup.Group, b *bench.Bench,
	follow func(ctx context.Context, client *kube.Client, opened func()) error) error {
	client, err := b.Node.Kube()
	if err != nil {
		return err
	}
	opened := make(chan struct{}, 1) // keepOpen waits only until the watch opens for the first time
	group.Go(func() error {
		defer client.Close()
		return follow(ctx, client, func() {
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

// byteCount is a writer that counts the written bytes.
type byteCount struct{ atomic.Int64 }

// Write implements io.Writer.
func (c *byteCount) Write(p []byte) (int, error) {
	c.Add(int64(len(p)))
	return len(p), nil
}

// judgeCost requires that the cost is at most the target. The measurement must prove this with 95 % confidence. If the
// measurement is inconclusive, judgeCost reports a problem, unless the load is quick.
func judgeCost(v *Verdict, kind costKind, cost pairedDifferences[time.Duration]) {
	v.Compared++
	switch {
	case kind.quick:
		if cost.atLeast() > kind.target() {
			v.Problem("%s: with 95 %% confidence, an agent costs the API server and etcd at least %.3f ms per start, "+
				"want at most %.1f", kind.name(), milliseconds(cost.atLeast()), milliseconds(kind.target()))
		}
	case cost.mean > kind.target():
		v.Problem("%s: an agent costs the API server and etcd %.3f ms per start, want at most %.1f", kind.name(),
			milliseconds(cost.mean), milliseconds(kind.target()))
	case cost.atMost() > kind.target():
		v.Problem("%s: an agent costs the API server and etcd %.3f ms per start, but the blocks vary too much to "+
			"prove a cost of less than %.1f: run the scenario alone", kind.name(), milliseconds(cost.mean),
			milliseconds(kind.target()))
	}
}

// judgeFloor requires that a bare Event watch has a cost above zero. The measurement must prove this with 95 %
// confidence. If the measurement cannot show this cost, the measurement does not work. The parameter "delivered" is the
// number of bytes that the watches received. If the field selector matches no Event, the watches must receive nothing.
// With any other field selector, the watches must receive Events.
func judgeFloor(v *Verdict, kind costKind, cost pairedDifferences[time.Duration], delivered int64) {
	v.Compared += 2
	if want := kind.selector != noEvent; (delivered > 0) != want {
		v.Problem("%s: the watches received %d bytes, want Events: %t", kind.name(), delivered, want)
	}
	if cost.atLeast() <= 0 {
		v.Problem("%s: a watch costs the API server and etcd %.3f ms per start, but the blocks vary too much to prove "+
			"a cost above zero: run the scenario alone", kind.name(), milliseconds(cost.mean))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
